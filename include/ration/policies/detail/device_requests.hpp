// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The devices that each job requests and holds, kept up to date from tick to tick.
///
/// Part of rigid_jobs.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/policies/detail/requested_devices.hpp>
#include <ration/policies/detail/row_set.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// Where a job was before rows moved.
struct former_row {
    std::uint32_t row = 0;
    bool is_known = false;  ///< it had a row in the last tick
};

/// The devices that a job in this state requests, within its bounds; 0 if it is not active. A request above 2^40 never
/// fits, and counts as that, so that no sum overflows.
[[nodiscard]] inline std::int64_t wanted_by(std::uint32_t state, std::int64_t asked, bounds const& accepted) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (!is_active(static_cast<job_state>(state)) || asked <= 0) return 0;
    return within(most_wanted(accepted, asked), {0, most});
}
/// The same of the job in this row.
template <class Tick>
[[nodiscard]] std::int64_t wanted_in(Tick const& t, std::size_t row) noexcept {
    return wanted_by(t.template get<"jobs/state">()[row], t.template get<"jobs/request.gpu">()[row],
                     {t.template get<"jobs/min.gpu">()[row], t.template get<"jobs/max.gpu">()[row]});
}

/// The devices that jobs request and hold, with sums over all jobs. `follow` is O(changes), or O(jobs) without a list
/// of changes.
class device_requests {
    job_memory<former_row> rows_;
    // By row: the requested devices while the job is active, otherwise 0; and those that it holds.
    buffer<std::int64_t> wanted_, held_;
    row_set lacking_;                // active jobs that do not hold what they want
    buffer<std::uint32_t> renewed_;  // rows that have changed since the last tick
    std::int64_t all_wanted_ = 0, all_held_ = 0;
    std::size_t exceeding_ = 0;  // jobs that hold more than they want
    bool has_base_ = false;      // false: the list of changes is about a state that this object has not seen

public:
    /// Allocates for the largest tables, and removes all jobs.
    void reserve(limits const& most) noexcept {
        rows_ = {};
        rows_.reserve(most.jobs);
        wanted_.reserve(most.jobs);
        held_.reserve(most.jobs);
        lacking_.reset(most.jobs);
        renewed_.reserve(2 * most.jobs);
        has_base_ = false;
        forget();
    }

    /// The devices that the job requests while it is active; otherwise 0.
    [[nodiscard]] std::int64_t wanted(std::size_t row) const noexcept { return wanted_[row]; }
    /// The devices that the job holds; 0 if it is not active.
    [[nodiscard]] std::int64_t held(std::size_t row) const noexcept { return held_[row]; }
    /// The devices that the job holds less than it wants.
    [[nodiscard]] std::int64_t lack(std::size_t row) const noexcept {
        return wanted_[row] > held_[row] ? wanted_[row] - held_[row] : 0;
    }
    /// The row of the job in the last tick.
    [[nodiscard]] former_row const& former(std::size_t row) const noexcept { return rows_[row]; }
    /// Active jobs that do not hold what they want.
    [[nodiscard]] row_set const& lacking() const noexcept { return lacking_; }
    /// True if a job holds less than it wants.
    [[nodiscard]] bool any_waits() const noexcept { return lacking_.size() > exceeding_; }
    /// True if a job holds more than it wants.
    [[nodiscard]] bool any_exceeds() const noexcept { return exceeding_ != 0; }
    /// The requested devices of all active jobs.
    [[nodiscard]] std::int64_t all_wanted() const noexcept { return all_wanted_; }
    /// The devices that active jobs hold.
    [[nodiscard]] std::int64_t all_held() const noexcept { return all_held_; }
    /// Rows that the host reports as changed since the last tick, and all rows after they have moved. Only
    /// those that differ, if the host lists no changes.
    [[nodiscard]] std::span<std::uint32_t const> renewed() const noexcept { return renewed_.view(); }

    /// The job holds this number of devices in a plan. Its row has to be among `planned` at the next `follow`.
    void plan(std::size_t row, std::int64_t held) noexcept { set(row, wanted_[row], held); }

    /// A tick that is not followed: the next one reads all rows.
    void skip() noexcept { has_base_ = false; }
    /// Takes in what has changed since the last tick. Returns true if rows have moved.
    template <class Tick>
    [[nodiscard]] bool follow(Tick const& t, std::span<std::uint32_t const> planned) noexcept {
        renewed_.clear();
        auto const& changed = t.changes(table_id::jobs);
        bool const any = changed.everything != 0 || !has_base_;
        bool const moved = follow_rows(t.template get<"jobs/id">(), any || changed.moved != 0);
        if (moved) {
            for (std::size_t row = 0; row < t.jobs(); ++row) renew(t, row);
        } else if (any) {
            find_changes(t);
        } else {
            for (std::uint32_t const row : planned) renew(t, row);
            for (std::size_t i = 0; i < changed.count; ++i) renew(t, changed.row[i]);
        }
        has_base_ = true;
        return moved;
    }

private:
    /// Moves what is known of each job to its present row. Returns true if rows have moved.
    bool follow_rows(std::span<std::uint64_t const> ids, bool may_have_moved) noexcept {
        bool const moved = may_have_moved && !rows_.begins(ids);
        if (moved) {
            for (std::size_t row = 0; row < rows_.size(); ++row) rows_[row] = {static_cast<std::uint32_t>(row), true};
            rows_.follow(ids);
        } else {
            rows_.follow_new(ids);
        }
        if (moved) forget();
        wanted_.resize(ids.size());
        held_.resize(ids.size());
        return moved;
    }
    /// Removes all jobs.
    void forget() noexcept {
        wanted_.clear();
        held_.clear();
        lacking_.reset(0);
        all_wanted_ = all_held_ = 0;
        exceeding_ = 0;
    }
    /// Reads a row.
    template <class Tick>
    void renew(Tick const& t, std::size_t row) noexcept {
        std::int64_t const wanted = wanted_in(t, row);
        renewed_.push_back(static_cast<std::uint32_t>(row));
        set(row, wanted, wanted > 0 ? t.template get<"jobs/held.gpu">()[row] : 0);
    }
    /// Reads all rows.
    template <class Tick>
    void find_changes(Tick const& t) noexcept {
        auto const* const state = t.template get<"jobs/state">().data();
        auto const* const asked = t.template get<"jobs/request.gpu">().data();
        auto const* const least = t.template get<"jobs/min.gpu">().data();
        auto const* const most = t.template get<"jobs/max.gpu">().data();
        auto const* const held = t.template get<"jobs/held.gpu">().data();
        for (std::size_t row = 0, size = t.jobs(); row < size; ++row) {
            std::int64_t const w = wanted_by(state[row], asked[row], {least[row], most[row]}),
                               h = w > 0 ? held[row] : 0;
            if (((w ^ wanted_[row]) | (h ^ held_[row])) != 0) renew(t, row);
        }
    }

    void set(std::size_t row, std::int64_t wanted, std::int64_t held) noexcept {
        if (wanted_[row] == wanted && held_[row] == held) return;
        count(row, -1);
        wanted_[row] = wanted;
        held_[row] = held;
        count(row, 1);
    }
    /// Adds the job to the sums, or takes it out of them.
    void count(std::size_t row, int sign) noexcept {
        all_wanted_ += sign * wanted_[row];
        all_held_ += sign * held_[row];
        exceeding_ += held_[row] > wanted_[row] ? static_cast<std::size_t>(sign) : 0;
        lacking_.set(row, sign > 0 && held_[row] != wanted_[row]);
    }
};

}  // namespace ration::policies::detail
