// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/ledger.hpp"
/// A sorted array of holdings with vacant slots between jobs, so that a change moves few of them.
///
/// Part of the ledger. The table `held` of the snapshot has one row for each slot. The structure is the packed-memory
/// array of M. Bender, E. Demaine and M. Farach-Colton, "Cache-Oblivious B-Trees", FOCS 2000.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/plan.hpp>

namespace ration {

/// The amount of one resource that a job holds on a node, and the time of its last change.
struct holding {
    /// Job, node, resource and amount.
    setting what;
    nanoseconds since;  ///< time of the last change of the amount
};

namespace detail {

/// Slots [first, last).
struct slot_range {
    std::size_t first = 0, last = 0;
};

/// Holdings in ascending order of (job, node, resource). The holdings of one job are in consecutive slots. A vacant
/// slot has the amount 0; it carries the id of a job and counts as behind all holdings of that job, so that slots
/// ascend. Small arrays have none. `insert` and `erase` move O(log^2 n) slots, amortised; appending moves none.
class holding_slots {
    buffer<holding> slots_;
    buffer<holding> moved_;  // of a window while it is spread
    // The job in the first slot of each block, so that a search reads few slots outside the cache.
    buffer<std::uint64_t> begins_;
    std::size_t live_ = 0;

    static constexpr std::size_t block = 32;   // slots
    static constexpr std::size_t reach = 32;   // slots on each side in which `insert` looks for a vacant one
    static constexpr std::size_t small = 128;  // up to this size, no slot is vacant: moving all is as fast

public:
    /// Removes all holdings. Afterwards, `holdings` of them need no allocation.
    void reset(std::size_t holdings) noexcept {
        slots_.clear();
        slots_.reserve(2 * holdings + small);
        moved_.reserve(2 * holdings + small);
        begins_.clear();
        begins_.reserve((2 * holdings + small) / block + 1);
        live_ = 0;
    }

    /// The number of slots, with the vacant ones.
    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    /// The number of holdings.
    [[nodiscard]] std::size_t live() const noexcept { return live_; }
    /// The first slot.
    [[nodiscard]] holding const* begin() const noexcept { return slots_.begin(); }
    /// Behind the last slot.
    [[nodiscard]] holding const* end() const noexcept { return slots_.end(); }
    /// One slot.
    [[nodiscard]] holding& operator[](std::size_t slot) noexcept { return slots_[slot]; }
    /// The same, read-only.
    [[nodiscard]] holding const& operator[](std::size_t slot) const noexcept { return slots_[slot]; }

    /// True if the slot has no holding.
    [[nodiscard]] static bool is_vacant(holding const& h) noexcept { return h.what.amount == 0; }

    /// The order of the slots.
    [[nodiscard]] static bool before(setting const& a, setting const& b) noexcept {
        if (a.job != b.job) return a.job < b.job;
        return a.node != b.node ? a.node < b.node : a.resource < b.resource;
    }

    /// The first slot, from `low` on, that is not before `s`. O(log n).
    [[nodiscard]] std::size_t lower_bound(setting const& s, std::size_t low = 0) const noexcept {
        if (slots_.empty() || before(slots_.back().what, s)) return slots_.size();
        std::size_t const later =
            partition_point(begins_.size(), [&](std::size_t b) { return begins_[b] < s.job.value; });
        std::size_t last = later;  // the blocks from here on begin behind all slots of the job
        while (last < begins_.size() && begins_[last] == s.job.value) ++last;
        std::size_t high = last < begins_.size() ? last * block : slots_.size();
        if (later > 0 && low < (later - 1) * block) low = (later - 1) * block;
        while (low < high) {
            std::size_t const middle = low + (high - low) / 2;
            if (before(slots_[middle].what, s))
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    /// Inserts a holding whose `lower_bound` is `slot`, and returns the slots that have changed.
    slot_range insert(std::size_t slot, holding const& h) noexcept {
        ++live_;
        if (has_vacancy_near(slot)) return indexed(put_at(slot, h));
        slot_range const spread = indexed(spread_around(slot));
        slot_range const put = indexed(put_at(lower_bound(h.what), h));
        return {put.first < spread.first ? put.first : spread.first, put.last > spread.last ? put.last : spread.last};
    }

    /// Removes consecutive holdings of one job, and returns the slots that have changed.
    slot_range erase(std::size_t first, std::size_t last) noexcept {
        job_id const job = slots_[first].what.job;
        live_ -= last - first;
        // The job's other holdings move up, so that they stay consecutive.
        std::size_t to = first, from = last;
        for (; from < slots_.size() && slots_[from].what.job == job && !is_vacant(slots_[from]); ++from)
            slots_[to++] = slots_[from];
        if (slots_.size() <= small) {
            slots_.erase(to, from);
            return indexed({first, slots_.size()});
        }
        for (std::size_t i = to; i < from; ++i) slots_[i] = vacant_after(job);
        if (live_ * 4 >= slots_.size()) return {first, from};  // of the same job as before
        spread({0, slots_.size()}, 2 * live_ > small ? 2 * live_ : live_);
        return indexed({0, slots_.size()});
    }

private:
    /// Brings the index up to date for slots that have changed, and returns them.
    slot_range indexed(slot_range changed) noexcept {
        begins_.resize((slots_.size() + block - 1) / block);
        for (std::size_t b = (changed.first + block - 1) / block; b < begins_.size() && b * block < changed.last; ++b)
            begins_[b] = slots_[b * block].what.job.value;
        return changed;
    }

    /// A vacant slot behind the holdings of this job.
    [[nodiscard]] static holding vacant_after(job_id job) noexcept {
        return {{job, 0xFFFF'FFFF, resource_id{0xFFFF}, 0}, {}};
    }

    /// True if `put_at` moves few slots.
    [[nodiscard]] bool has_vacancy_near(std::size_t slot) const noexcept {
        std::size_t const moved = slots_.size() - slot;
        if (slots_.size() < small || (moved <= reach && slots_.size() < slots_.capacity())) return true;
        return vacancy_behind(slot, reach) < slots_.size() || vacancy_before(slot, reach) < slot;
    }
    /// The first vacant one of the `most` slots from `slot` on; the number of slots if there is none.
    [[nodiscard]] std::size_t vacancy_behind(std::size_t slot, std::size_t most) const noexcept {
        std::size_t const end = slots_.size() - slot < most ? slots_.size() : slot + most;
        for (; slot < end; ++slot)
            if (is_vacant(slots_[slot])) return slot;
        return slots_.size();
    }
    /// The last vacant one of the `most` slots before `slot`; `slot` if there is none.
    [[nodiscard]] std::size_t vacancy_before(std::size_t slot, std::size_t most) const noexcept {
        for (std::size_t i = slot; i > 0 && slot - i < most; --i)
            if (is_vacant(slots_[i - 1])) return i - 1;
        return slot;
    }

    /// Puts a holding before the one in `slot`, and moves those between it and the nearest vacant slot by one.
    slot_range put_at(std::size_t slot, holding const& h) noexcept {
        std::size_t const behind = vacancy_behind(slot, slots_.size());
        std::size_t const before = vacancy_before(slot, behind - slot);
        if (before == slot) {
            if (behind == slots_.size()) slots_.push_back(h);
            for (std::size_t i = behind; i > slot; --i) slots_[i] = slots_[i - 1];
            slots_[slot] = h;
            return {slot, behind + 1};
        }
        for (std::size_t i = before; i + 1 < slot; ++i) slots_[i] = slots_[i + 1];
        slots_[slot - 1] = h;
        return {before, slot};
    }

    /// Spreads the smallest window around a slot that is at most three quarters full. The whole array gets new slots at
    /// its end if it is fuller.
    slot_range spread_around(std::size_t slot) noexcept {
        for (std::size_t size = 4 * reach; size < slots_.size(); size *= 2) {
            slot_range const window = whole_jobs(slot > size / 2 ? slot - size / 2 : 0, slot + size / 2);
            std::size_t const held = held_in(window);
            if (held * 4 > (window.last - window.first) * 3) continue;
            spread(window, window.last);
            return window;
        }
        std::size_t const before = slots_.size(), wanted = 2 * live_ + small;
        spread({0, before}, before > wanted ? before : wanted);
        return {0, slots_.size()};
    }

    /// The slots around this window that neither begin nor end within a job.
    [[nodiscard]] slot_range whole_jobs(std::size_t first, std::size_t last) const noexcept {
        last = last < slots_.size() ? last : slots_.size();
        while (first > 0 && slots_[first - 1].what.job == slots_[first].what.job) --first;
        while (last < slots_.size() && slots_[last].what.job == slots_[last - 1].what.job) ++last;
        return {first, last};
    }

    [[nodiscard]] std::size_t held_in(slot_range window) const noexcept {
        std::size_t held = 0;
        for (std::size_t i = window.first; i < window.last; ++i) held += !is_vacant(slots_[i]);
        return held;
    }

    /// Distributes the holdings of the window evenly over the slots from its first one to `last`. Jobs stay together.
    void spread(slot_range window, std::size_t last) noexcept {
        moved_.clear();
        for (std::size_t i = window.first; i < window.last; ++i)
            if (!is_vacant(slots_[i])) moved_.push_back(slots_[i]);
        if (window.last == slots_.size()) slots_.resize(last);
        std::size_t const room = last - window.first;
        job_id former = window.first > 0 ? slots_[window.first - 1].what.job : job_id{};
        std::size_t to = window.first;
        for (std::size_t i = 0; i < moved_.size(); ++i) {
            if (moved_[i].what.job != former)
                for (std::size_t const place = window.first + i * room / moved_.size(); to < place; ++to)
                    slots_[to] = vacant_after(former);
            slots_[to++] = moved_[i];
            former = moved_[i].what.job;
        }
        for (; to < last; ++to) slots_[to] = vacant_after(former);
    }
};

}  // namespace detail

}  // namespace ration
