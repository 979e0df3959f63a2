// SPDX-License-Identifier: BSL-1.0
/// The ledger: the holdings of all jobs, and when they last changed. It is the engine's own record;
/// policies read it as the columns jobs/held.* and nodes/free.*.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/detail/holding_slots.hpp>
#include <ration/host/plan.hpp>

namespace ration {

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

/// The holdings of all jobs, in ascending order of (job, node, resource).
class all_holdings {
    detail::holding_slots const* slots_;

public:
    /// A view of the slots.
    explicit all_holdings(detail::holding_slots const& slots) noexcept : slots_(&slots) {}

    /// Skips the vacant slots.
    class iterator {
        holding const *at_ = nullptr, *end_ = nullptr;

        void skip() noexcept {
            while (at_ != end_ && detail::holding_slots::is_vacant(*at_)) ++at_;
        }

    public:
        using value_type = holding;
        using difference_type = std::ptrdiff_t;

        iterator() noexcept = default;
        /// The first holding from `at` on.
        iterator(holding const* at, holding const* end) noexcept : at_(at), end_(end) { skip(); }
        [[nodiscard]] holding const& operator*() const noexcept { return *at_; }
        iterator& operator++() noexcept {
            ++at_;
            skip();
            return *this;
        }
        iterator operator++(int) noexcept {
            iterator const before = *this;
            ++*this;
            return before;
        }
        [[nodiscard]] friend bool operator==(iterator const& a, iterator const& b) noexcept { return a.at_ == b.at_; }
    };

    /// The first holding.
    [[nodiscard]] iterator begin() const noexcept { return {slots_->begin(), slots_->end()}; }
    /// Behind the last holding.
    [[nodiscard]] iterator end() const noexcept { return {slots_->end(), slots_->end()}; }
    /// The number of holdings. O(1).
    [[nodiscard]] std::size_t size() const noexcept { return slots_->live(); }
    /// True if no job holds anything. O(1).
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
};

/// The changes of a ledger since the last `forget_changes`.
struct ledger_changes {
    /// A changed amount.
    struct place {
        /// The job that holds it.
        job_id job;
        /// Row of the nodes table.
        std::uint32_t node;
        /// The resource.
        resource_id resource;
        /// The slots that have changed with it.
        detail::slot_range slots;
    };
    buffer<place> places;  ///< changed amounts; one can be listed twice
    /// Anything may have changed.
    bool everything = true;

    /// True if anything has changed.
    [[nodiscard]] bool any() const noexcept { return everything || !places.empty(); }
};

/// Holdings in ascending order of (job, node, resource), and their sums. `find` is O(log n); `set` and `release` are
/// O(log^2 n), amortised.
class ledger {
    detail::holding_slots slots_;
    buffer<std::int64_t> sums_;      // resource-major
    buffer<std::uint32_t> omitted_;  // by resource: 1 if it has no sums
    std::size_t nodes_ = 0;
    ledger_changes changes_;

public:
    /// Removes everything. Afterwards, up to `holdings` holdings need no allocation.
    void reset(std::size_t nodes, std::size_t resources, std::size_t holdings) {
        slots_.reset(holdings);
        sums_.reset(nodes * resources);
        omitted_.reset(resources);
        nodes_ = nodes;
        changes_.places.reserve(holdings);
        forget_changes();
        changes_.everything = true;
    }

    /// Keeps 0 as the sums of a resource until the next `reset`. For settings: without a capacity nothing bounds their
    /// sums, which could overflow. Precondition: no job holds the resource.
    void omit_sums(resource_id resource) noexcept { omitted_[static_cast<std::size_t>(resource)] = 1; }
    /// False after `omit_sums`.
    [[nodiscard]] bool has_sums(resource_id resource) const noexcept {
        return omitted_[static_cast<std::size_t>(resource)] == 0;
    }

    /// The changes since the last `forget_changes`.
    [[nodiscard]] ledger_changes const& changes() const noexcept { return changes_; }
    /// Starts a new list of changes.
    void forget_changes() noexcept {
        changes_.places.clear();
        changes_.everything = false;
    }

    /// All holdings, sorted.
    [[nodiscard]] all_holdings all() const noexcept { return all_holdings(slots_); }
    /// All holdings with the vacant slots between them, as the rows of the table `held`.
    [[nodiscard]] detail::holding_slots const& slots() const noexcept { return slots_; }

    /// One holding; nullptr if the job holds nothing of the resource there.
    [[nodiscard]] holding const* find(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        std::size_t const i = slots_.lower_bound({job, node, resource, 0});
        return is_at(i, {job, node, resource, 0}) ? &slots_[i] : nullptr;
    }

    /// The amount; 0 if the job holds nothing of the resource there.
    [[nodiscard]] std::int64_t amount(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        auto const* const h = find(job, node, resource);
        return h == nullptr ? 0 : h->what.amount;
    }

    /// The reservations of the resource on the node, over all jobs. 0 after `omit_sums`.
    [[nodiscard]] std::int64_t sum(std::uint32_t node, resource_id resource) const noexcept {
        return sums_[place_of(node, resource)];
    }

    /// The reservations of the resource on the first node; those of the other nodes follow.
    [[nodiscard]] std::int64_t const* sums(resource_id resource) const noexcept {
        return sums_.data() + place_of(0, resource);
    }

    /// All holdings of a job. O(log n).
    [[nodiscard]] holding_range of(job_id job) const noexcept {
        std::size_t const first = slots_.lower_bound({job, 0, resource_id{}, 0});
        return {slots_.begin() + first, slots_.begin() + end_of(job, first)};
    }

    /// Sets an amount; 0 removes the holding.
    void set(setting const& s, nanoseconds now) {
        std::size_t const i = slots_.lower_bound(s);
        bool const known = is_at(i, s);
        if (known) add_to_sum(s, -promised(slots_[i].what.amount, s.resource));
        add_to_sum(s, promised(s.amount, s.resource));
        detail::slot_range changed{i, i};
        if (s.amount == 0) {
            if (known) changed = slots_.erase(i, i + 1);
        } else if (known) {
            slots_[i] = {s, now};
            changed = {i, i + 1};
        } else {
            changed = slots_.insert(i, {s, now});
        }
        note(s, changed);
    }

    /// Removes all holdings of a job.
    void release(job_id job) {
        std::size_t const first = slots_.lower_bound({job, 0, resource_id{}, 0});
        std::size_t const last = end_of(job, first);
        if (first == last) return;
        for (std::size_t i = first; i < last; ++i) {
            setting const& s = slots_[i].what;
            note(s, {first, first});
            add_to_sum(s, -promised(s.amount, s.resource));
        }
        detail::slot_range const changed = slots_.erase(first, last);
        if (!changes_.everything) changes_.places.back().slots = changed;
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
        explicit walk(ledger const& all) noexcept : all_(&all), next_(all.slots_.begin()), end_(all.slots_.end()) {}
        /// The holdings of a job.
        [[nodiscard]] holding_range of(job_id job) noexcept {
            go_to(job);
            holding const* const first = next_;
            while (next_ != end_ && is_of(job, *next_)) ++next_;
            return {first, next_};
        }
        /// The amount of the resource if the job holds it on that node only. Otherwise -1; then
        /// `of` can still be called for the same job.
        [[nodiscard]] std::int64_t only(job_id job, std::uint32_t node, resource_id resource) noexcept {
            go_to(job);
            holding const* h = next_;
            std::int64_t amount = 0;
            for (; h != end_ && is_of(job, *h); ++h) {
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
    /// The amount as a part of a node's reservations.
    [[nodiscard]] static std::int64_t promised(std::int64_t amount, resource_id r) noexcept {
        return reserved(amount, r);
    }
    /// True for the same job, node and resource.
    [[nodiscard]] static bool same_place(setting const& a, setting const& b) noexcept {
        return a.job == b.job && a.node == b.node && a.resource == b.resource;
    }
    /// The order of the holdings.
    [[nodiscard]] static bool before(setting const& a, setting const& b) noexcept {
        return detail::holding_slots::before(a, b);
    }

private:
    [[nodiscard]] std::size_t place_of(std::uint32_t node, resource_id r) const noexcept {
        return static_cast<std::size_t>(r) * nodes_ + node;
    }
    void add_to_sum(setting const& at, std::int64_t change) noexcept {
        if (has_sums(at.resource)) sums_[place_of(at.node, at.resource)] += change;
    }
    /// True if the slot has a holding of the job.
    [[nodiscard]] static bool is_of(job_id job, holding const& h) noexcept {
        return h.what.job == job && !detail::holding_slots::is_vacant(h);
    }
    /// True if the slot has a holding in this place.
    [[nodiscard]] bool is_at(std::size_t slot, setting const& s) const noexcept {
        return slot < slots_.size() && same_place(slots_[slot].what, s);
    }
    [[nodiscard]] std::size_t end_of(job_id job, std::size_t first) const noexcept {
        while (first < slots_.size() && is_of(job, slots_[first])) ++first;
        return first;
    }
    void note(setting const& s, detail::slot_range slots) noexcept {
        changes_.everything = changes_.everything || changes_.places.size() == changes_.places.capacity();
        if (!changes_.everything) changes_.places.push_back({s.job, s.node, s.resource, slots});
    }
    /// The first holding of a job, or the place for it, behind a holding of an earlier job. Most
    /// are near, so it searches linearly first.
    [[nodiscard, gnu::noinline]] holding const* not_before(job_id job, holding const* from) const noexcept {
        constexpr int near = 8;
        for (int step = 0; step < near; ++step)
            if (++from == slots_.end() || !(from->what.job < job)) return from;
        return slots_.begin() +
               slots_.lower_bound({job, 0, resource_id{}, 0}, static_cast<std::size_t>(from - slots_.begin()));
    }
};

}  // namespace ration
