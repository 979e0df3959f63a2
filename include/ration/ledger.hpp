// SPDX-License-Identifier: BSL-1.0
/// The ledger: who holds what since when. The engine's own record; a policy sees it as the columns jobs/held.* and nodes/free.*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/plan.hpp>

namespace ration {

struct holding {
    setting what;
    nanoseconds since;  ///< when the amount last changed
};

/// Holdings in ascending order of (job, node, resource), and their sums. `find` is O(log n); `set` moves the later holdings.
class ledger {
    buffer<holding> holdings_;
    buffer<std::int64_t> sums_;  // node-major
    std::size_t resources_ = 0;

public:
    /// Forgets everything. Until the next call at most `holdings` are expected without allocation.
    void reset(std::size_t nodes, std::size_t resources, std::size_t holdings) {
        holdings_.clear();
        holdings_.reserve(holdings);
        sums_.reset(nodes * resources);
        resources_ = resources;
    }

    [[nodiscard]] buffer<holding> const& all() const noexcept { return holdings_; }

    /// The holding, or nullptr when the job holds nothing of it there.
    [[nodiscard]] holding const* find(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        std::size_t const i = lower_bound({job, node, resource, 0});
        return i < holdings_.size() && same_place(holdings_[i].what, {job, node, resource, 0}) ? &holdings_[i] : nullptr;
    }

    /// 0 when the job holds nothing of it there.
    [[nodiscard]] std::int64_t amount(job_id job, std::uint32_t node, resource_id resource) const noexcept {
        auto const* const h = find(job, node, resource);
        return h == nullptr ? 0 : h->what.amount;
    }

    /// What all jobs hold of it on the node; `unlimited` holdings count as nothing, since they promise nothing.
    [[nodiscard]] std::int64_t sum(std::uint32_t node, resource_id resource) const noexcept {
        return sums_[place_of(node, resource)];
    }

    /// An amount of 0 removes the holding.
    void set(setting const& s, nanoseconds now) {
        std::size_t const i = lower_bound(s);
        bool const known = i < holdings_.size() && same_place(holdings_[i].what, s);
        auto& sum = sums_[place_of(s.node, s.resource)];
        if (known) sum -= counted(holdings_[i].what.amount);
        sum += counted(s.amount);
        if (s.amount == 0) {
            if (known) holdings_.erase(i, i + 1);
        } else if (known) {
            holdings_[i] = {s, now};
        } else {
            holdings_.insert(i, {s, now});
        }
    }

    /// The job holds nothing any more, anywhere.
    void release(job_id job) {
        std::size_t const first = lower_bound({job, 0, resource_id{}, 0});
        std::size_t last = first;
        for (; last < holdings_.size() && holdings_[last].what.job == job; ++last) {
            setting const& s = holdings_[last].what;
            sums_[place_of(s.node, s.resource)] -= counted(s.amount);
        }
        holdings_.erase(first, last);
    }

    /// Amounts at places that are asked for in ascending order, each once: O(holdings) for all of them together.
    class walk {
        holding const* next_;
        holding const* end_;

    public:
        explicit walk(ledger const& all) noexcept : next_(all.holdings_.begin()), end_(all.holdings_.end()) {}
        [[nodiscard]] std::int64_t amount(job_id job, std::uint32_t node, resource_id resource) noexcept {
            for (; next_ != end_; ++next_) {
                setting const& next = next_->what;
                if (next.job == job && next.node == node && next.resource == resource) return next_++->what.amount;
                if (!before(next, {job, node, resource, 0})) break;
            }
            return 0;
        }
    };

    [[nodiscard]] static std::int64_t counted(std::int64_t amount) noexcept { return amount == unlimited ? 0 : amount; }

private:
    [[nodiscard]] std::size_t place_of(std::uint32_t node, resource_id r) const noexcept {
        return node * resources_ + static_cast<std::size_t>(r);
    }
    [[nodiscard]] static bool same_place(setting const& a, setting const& b) noexcept {
        return a.job == b.job && a.node == b.node && a.resource == b.resource;
    }
    [[nodiscard]] static bool before(setting const& a, setting const& b) noexcept {
        if (a.job != b.job) return a.job < b.job;
        return a.node != b.node ? a.node < b.node : a.resource < b.resource;
    }
    [[nodiscard]] std::size_t lower_bound(setting const& s) const noexcept {
        if (holdings_.empty() || before(holdings_.back().what, s)) return holdings_.size();
        std::size_t low = 0, high = holdings_.size();
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
