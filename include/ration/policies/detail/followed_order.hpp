// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The order of rigid jobs by a quantity that changes evenly with time, kept up to date from tick to tick.
///
/// Part of `las` and `srtf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/crossing_times.hpp>
#include <ration/policies/detail/ranked_jobs.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies::detail {

/// A quantity of a job as of a time, from which it changes evenly.
struct line {
    double value = 0;
    std::int64_t since = 0;  ///< ns
};

/// Remembers the quantity of each job, the order, and when a job has to be ranked again. Without a list of changes the
/// quantities are read at each tick. O(log jobs) for each job that changes or crosses a threshold.
class followed_order {
    ranked_jobs order_;
    crossing_times crossings_;  // by row
    buffer<line> lines_;        // by row
    buffer<std::uint32_t> chosen_, new_rows_;
    buffer<std::uint32_t> unranked_;    // rows that have changed since the last division
    buffer<std::uint8_t> is_unranked_;  // by row
    std::size_t most_jobs_ = 0;
    std::int64_t base_ = 0;  // time of the last tick without a list
    bool has_list_ = false;
    bool all_unranked_ = false;
    bool is_skipped_ = true;  // the last tick was not followed

public:
    /// Allocates for the largest tables, and removes all.
    void reserve(limits const& most) noexcept {
        order_.reserve(most.jobs);
        crossings_.reset(most.jobs);
        lines_.reserve(most_jobs_ = most.jobs);
        chosen_.reserve(most.jobs);
        new_rows_.reserve(most.jobs);
        unranked_.reserve(most.jobs);
        is_unranked_.reserve(most.jobs);
        has_list_ = false;
        is_skipped_ = true;
    }

    /// A tick without a list, for a policy that needs no order then: the next one is made from the start.
    void skip(nanoseconds now) noexcept {
        base_ = now.count;
        has_list_ = false;
        is_skipped_ = true;
    }

    /// Takes in the changes since the last tick, also those of `jobs`. `values` is the quantity of each row. Returns
    /// true if all jobs have to be ranked.
    template <class Tick>
    bool follow(Tick const& t, rigid_jobs& jobs, std::span<double const> values) noexcept {
        bool const moved = jobs.follow(t);
        auto const& changed = t.changes(table_id::jobs);
        bool const had_list = has_list_;
        has_list_ = changed.everything == 0;
        if (is_skipped_)
            clear();
        else if (moved)
            move_rows(jobs.requests(), t.jobs());
        grow(t.jobs());
        bool const no_room = has_list_ && make_room_for_crossings(t.jobs());
        bool const any = no_room || moved || is_skipped_ || !had_list || !has_list_;
        is_skipped_ = false;
        if (has_list_) {
            // A row that is not listed has the value of the last tick.
            for (std::size_t row = 0; !had_list && row < t.jobs(); ++row) lines_[row] = {values[row], base_};
            for (std::size_t i = 0; i < changed.count; ++i)
                if ((changed.groups[i] & progress_columns) != 0)
                    lines_[changed.row[i]] = {values[changed.row[i]],
                                              changed.at[i] < 0 ? t.now().count : changed.at[i]};
        } else {
            std::int64_t const now = base_ = t.now().count;
            line* const lines = lines_.data();
            for (std::size_t row = 0, rows = t.jobs(); row < rows; ++row) lines[row] = {values[row], now};
        }
        all_unranked_ = all_unranked_ || any;
        if (!all_unranked_)
            for (std::uint32_t const row : jobs.requests().renewed()) note(row);
        return any;
    }

    /// The host lists changes, so that jobs can be ranked when they cross a threshold.
    [[nodiscard]] bool has_list() const noexcept { return has_list_; }
    /// The quantity of a job.
    [[nodiscard]] line const& operator[](std::size_t row) const noexcept { return lines_[row]; }

    /// The job has to be ranked before the next division.
    void note(std::size_t row) noexcept {
        if (is_unranked_[row] != 0) return;
        is_unranked_[row] = 1;
        unranked_.push_back(static_cast<std::uint32_t>(row));
    }
    /// Calls `rank(row)`, which calls `put`, for each job that may have another rank now.
    template <class Rank>
    void rank_all(rigid_jobs const& jobs, nanoseconds now, Rank const& rank) noexcept {
        for (std::size_t row = due(now); row != crossings_.none; row = due(now)) rank(row);
        for (std::uint32_t const row : unranked_) {
            is_unranked_[row] = 0;
            if (!all_unranked_) rank(row);
        }
        unranked_.clear();
        for (std::size_t row = 0, rows = all_unranked_ ? lines_.size() : 0; row < rows; ++row) rank(row);
        all_unranked_ = false;
        for (std::size_t i = 0; i < jobs.planned(); ++i) rank(jobs.planned_row(i));
    }
    /// Sets the rank of a job, and the time at which it has to be ranked again.
    void put(rigid_jobs const& jobs, std::size_t row, priority const& key, nanoseconds crossing,
             job_order order = job_order::first) noexcept {
        order_.put(
            row, key,
            {.wanted = jobs.wanted(row), .holds = jobs.held(row) > 0, .lacks = jobs.held(row) != jobs.wanted(row)},
            order);
        if (has_list_) crossings_.set(row, crossing);
    }

    /// Runs the jobs in the order of their priorities, each that still fits; the others are stopped.
    template <class Tick>
    void serve(Tick const& t, rigid_jobs& jobs) noexcept {
        divide(t, jobs,
               [&](auto const& stop, auto const& start) noexcept { order_.divide(jobs.available(), stop, start); });
    }
    /// The same with both orders: see `ranked_jobs::divide_merged`.
    template <class Tick, class Before>
    void serve_merged(Tick const& t, rigid_jobs& jobs, Before const& is_before) noexcept {
        divide(t, jobs, [&](auto const& stop, auto const& start) noexcept {
            order_.divide_merged(jobs.available(), is_before, stop, start);
        });
    }

private:
    /// All stops come first, so that their devices are free for the others.
    template <class Tick, class Divide>
    void divide(Tick const& t, rigid_jobs& jobs, Divide const& by_rank) noexcept {
        chosen_.clear();
        by_rank([&](std::uint32_t row) noexcept { jobs.stop(t, row); },
                [&](std::uint32_t row) noexcept { chosen_.push_back(row); });
        for (std::uint32_t const row : chosen_)
            if (jobs.waits(row)) static_cast<void>(jobs.start(t, row));
    }

    /// A job that has reached a threshold.
    [[nodiscard]] std::size_t due(nanoseconds now) const noexcept {
        return has_list_ ? crossings_.due(now) : crossings_.none;
    }

    /// Returns true if all jobs have to be ranked again.
    [[nodiscard]] bool make_room_for_crossings(std::size_t jobs) noexcept {
        if (crossings_.size() > jobs) return false;
        crossings_.reset(2 * jobs < most_jobs_ ? 2 * jobs : most_jobs_);
        return true;
    }

    void clear() noexcept {
        order_.clear();
        crossings_.reset(0);
        lines_.clear();
        unranked_.clear();
        is_unranked_.clear();
    }
    void grow(std::size_t rows) noexcept {
        order_.grow(rows);
        while (lines_.size() < rows) lines_.push_back({});
        is_unranked_.resize(rows);
    }

    /// Gives the jobs their present rows.
    void move_rows(device_requests const& requests, std::size_t rows) noexcept {
        new_rows_.clear();
        for (std::size_t old = 0; old < lines_.size(); ++old) new_rows_.push_back(0xFFFF'FFFF);
        crossings_.reset(0);
        unranked_.clear();
        is_unranked_.reset(rows);
        while (lines_.size() < rows) lines_.push_back({});
        for (std::size_t row = 0; row < rows; ++row) {
            former_row const& from = requests.former(row);
            if (from.is_known) new_rows_[from.row] = static_cast<std::uint32_t>(row);
            lines_[row] = from.is_known ? lines_[from.row] : line{};
        }
        lines_.resize(rows);
        order_.move_rows(new_rows_.view(), rows);
    }
};

}  // namespace ration::policies::detail
