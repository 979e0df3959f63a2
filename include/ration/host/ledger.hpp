// SPDX-License-Identifier: BSL-1.0
/// The ledger: the holdings of all jobs, and when they last changed. It is the engine's own record;
/// policies read it as the columns jobs/held.* and nodes/free.*.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/host/plan.hpp>

namespace ration {

/// The amount of one resource that a job holds on a node, and the time of its last change.
struct holding {
    /// Job, node, resource and amount.
    setting what;
    nanoseconds since;  ///< time of the last change of the amount
};

/// Consecutive holdings. Not a std::span, which would increase the compile time of every user of
/// the core.
struct holding_range {
    /// The first holding.
    holding const* first = nullptr;
    /// Behind the last holding.
    holding const* last = nullptr;
    /// For range-based loops.
    [[nodiscard]] holding const* begin() const noexcept { return first; }
    /// For range-based loops.
    [[nodiscard]] holding const* end() const noexcept { return last; }
};

/// The changes of a ledger since the last `forget_changes`.
struct ledger_changes {
    static constexpr std::size_t most_places = 128;  ///< with more changes, `everything` is set instead

    /// A changed amount.
    struct place {
        /// The job that holds it.
        job_id job;
        /// Row of the nodes table.
        std::uint32_t node;
        /// The resource.
        resource_id resource;
    };
    place places[most_places];  ///< changed amounts; one can be listed twice
    std::size_t count = 0;      ///< of places
    std::size_t first = 0;      ///< holdings before this index are unchanged
    /// Anything may have changed.
    bool everything = true;

    /// Records a change at index `at`.
    void note(setting const& s, std::size_t at) noexcept {
        first = at < first ? at : first;
        everything = everything || count == most_places;
        if (!everything) places[count++] = {s.job, s.node, s.resource};
    }
    /// True if anything has changed.
    [[nodiscard]] bool any() const noexcept { return everything || count > 0; }
};

/// Holdings in ascending order of (job, node, resource), and their sums. `find` is O(log n); `set`
/// moves the holdings behind it.
class ledger {
    buffer<holding> holdings_;
    buffer<std::int64_t> sums_;  // resource-major
    std::size_t nodes_ = 0;
    ledger_changes changes_;

public:
    /// Removes everything. Afterwards, up to `holdings` holdings need no allocation.
    void reset(std::size_t nodes, std::size_t resources, std::size_t holdings) {
        holdings_.clear();
        holdings_.reserve(holdings);
        sums_.reset(nodes * resources);
        nodes_ = nodes;
        forget_changes();
        changes_.everything = true;
    }

    /// The changes since the last `forget_changes`.
    [[nodiscard]] ledger_changes const& changes() const noexcept { return changes_; }
    /// Starts a new list of changes.
    void forget_changes() noexcept {
        changes_.count = 0;
        changes_.first = holdings_.size();
        changes_.everything = false;
    }

    /// All holdings, sorted.
    [[nodiscard]] buffer<holding> const& all() const noexcept { return holdings_; }

    /// One holding; nullptr if the job holds nothing of the resource there.
    [[nodiscard]] holding const* find(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        std::size_t const i = lower_bound({job, node, resource, 0});
        return i < holdings_.size() && same_place(holdings_[i].what, {job, node, resource, 0}) ? &holdings_[i]
                                                                                               : nullptr;
    }

    /// The amount; 0 if the job holds nothing of the resource there.
    [[nodiscard]] std::int64_t amount(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        auto const* const h = find(job, node, resource);
        return h == nullptr ? 0 : h->what.amount;
    }

    /// The reservations of the resource on the node, over all jobs.
    [[nodiscard]] std::int64_t sum(std::uint32_t node, resource_id resource) const noexcept {
        return sums_[place_of(node, resource)];
    }

    /// The reservations of the resource on the first node; those of the other nodes follow.
    [[nodiscard]] std::int64_t const* sums(resource_id resource) const noexcept {
        return sums_.data() + place_of(0, resource);
    }

    /// All holdings of a job. O(log n).
    [[nodiscard]] holding_range of(job_id job) const noexcept {
        std::size_t const first = lower_bound({job, 0, resource_id{}, 0});
        return {holdings_.data() + first, holdings_.data() + end_of(job, first)};
    }

    /// Sets an amount; 0 removes the holding.
    void set(setting const& s, nanoseconds now) {
        std::size_t const i = lower_bound(s);
        changes_.note(s, i);
        bool const known = i < holdings_.size() && same_place(holdings_[i].what, s);
        auto& sum = sums_[place_of(s.node, s.resource)];
        if (known) sum -= promised(holdings_[i].what.amount, s.resource);
        sum += promised(s.amount, s.resource);
        if (s.amount == 0) {
            if (known) holdings_.erase(i, i + 1);
        } else if (known) {
            holdings_[i] = {s, now};
        } else {
            holdings_.insert(i, {s, now});
        }
    }

    /// Removes all holdings of a job.
    void release(job_id job) {
        std::size_t const first = lower_bound({job, 0, resource_id{}, 0});
        std::size_t const last = end_of(job, first);
        if (first == last) return;
        for (std::size_t i = first; i < last; ++i) {
            setting const& s = holdings_[i].what;
            changes_.note(s, first);
            sums_[place_of(s.node, s.resource)] -= promised(s.amount, s.resource);
        }
        holdings_.erase(first, last);
    }

    /// The holdings of jobs that are requested once each, in ascending order: O(holdings) for all
    /// of them together, and O(log holdings) for each one that is far from its predecessor.
    class walk {
        ledger const* all_;
        holding const *next_, *end_;

        void go_to(job_id job) noexcept {
            if (next_ != end_ && next_->what.job < job) next_ = all_->not_before(job, next_);
        }

    public:
        /// Starts before the first job.
        explicit walk(ledger const& all) noexcept
            : all_(&all), next_(all.holdings_.begin()), end_(all.holdings_.end()) {}
        /// The holdings of a job.
        [[nodiscard]] holding_range of(job_id job) noexcept {
            go_to(job);
            holding const* const first = next_;
            while (next_ != end_ && next_->what.job == job) ++next_;
            return {first, next_};
        }
        /// The amount of the resource if the job holds it on that node only. Otherwise -1; then
        /// `of` can still be called for the same job.
        [[nodiscard]] std::int64_t only(job_id job, std::uint32_t node, resource_id resource) noexcept {
            go_to(job);
            holding const* h = next_;
            std::int64_t amount = 0;
            for (; h != end_ && h->what.job == job; ++h) {
                if (h->what.resource != resource) continue;
                if (h->what.node != node) return -1;
                amount = h->what.amount;
            }
            next_ = h;
            return amount;
        }
    };

    /// The amount as a part of a job's sum: `unlimited` adds nothing.
    [[nodiscard]] static std::int64_t counted(std::int64_t amount) noexcept { return amount == unlimited ? 0 : amount; }
    /// The amount as a part of a node's reservations. `unlimited` reserves nothing, nor does the
    /// smallest CPU grant: a job can have that on a full node (docs/adr/0019).
    [[nodiscard]] static std::int64_t promised(std::int64_t amount, resource_id r) noexcept {
        return r == resource_id::cpu && amount <= least_cpu.count ? 0 : counted(amount);
    }
    /// True for the same job, node and resource.
    [[nodiscard]] static bool same_place(setting const& a, setting const& b) noexcept {
        return a.job == b.job && a.node == b.node && a.resource == b.resource;
    }
    /// The order of the holdings.
    [[nodiscard]] static bool before(setting const& a, setting const& b) noexcept {
        if (a.job != b.job) return a.job < b.job;
        return a.node != b.node ? a.node < b.node : a.resource < b.resource;
    }

private:
    [[nodiscard]] std::size_t place_of(std::uint32_t node, resource_id r) const noexcept {
        return static_cast<std::size_t>(r) * nodes_ + node;
    }
    [[nodiscard]] std::size_t end_of(job_id job, std::size_t first) const noexcept {
        while (first < holdings_.size() && holdings_[first].what.job == job) ++first;
        return first;
    }
    /// The first holding of a job, or the place for it, behind a holding of an earlier job. Most
    /// are near, so it searches linearly first.
    [[nodiscard, gnu::noinline]] holding const* not_before(job_id job, holding const* from) const noexcept {
        constexpr int near = 8;
        for (int step = 0; step < near; ++step)
            if (++from == holdings_.end() || !(from->what.job < job)) return from;
        return holdings_.data() +
               lower_bound({job, 0, resource_id{}, 0}, static_cast<std::size_t>(from - holdings_.data()));
    }
    /// The first holding that is not before `s`, from `low` on.
    [[nodiscard]] std::size_t lower_bound(setting const& s, std::size_t low = 0) const noexcept {
        if (holdings_.empty() || before(holdings_.back().what, s)) return holdings_.size();
        std::size_t high = holdings_.size();
        while (low < high) {
            std::size_t const middle = low + (high - low) / 2;
            if (before(holdings_[middle].what, s))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
};

}  // namespace ration
