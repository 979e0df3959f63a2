// SPDX-License-Identifier: BSL-1.0
/// Arithmetic of a duty cycle: when a job with a budget of CPU time per period has to stop, and
/// when it may continue. It uses neither a clock nor a process, so tests can check every
/// nanosecond.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ration/units.hpp>

namespace ration::process {

/// A budget of CPU time that is refilled every period. CPU time beyond the budget is a debt that
/// reduces the next periods, so the average is right although a stop comes late. Unused budget is
/// lost, so a job cannot save it for a burst.
class budget {
    std::int64_t quota_ = 0;    ///< CPU time per period, ns
    std::int64_t left_ = 0;     ///< of this period, ns; negative: a debt
    std::int64_t rate_ = 1000;  ///< CPU time per 1000 ns of running, from the last measurement
    nanoseconds period_end_{}, last_time_{}, last_used_{};
    bool running_ = true;

public:
    /// The length of a period.
    static constexpr nanoseconds period = milliseconds(100);
    /// The largest debt in periods. A larger debt is reduced, so that no job is stopped for longer
    /// than this.
    static constexpr std::int64_t periods_owed_at_most = 10;

    /// The decision for a job.
    struct verdict {
        bool run = true;
        nanoseconds next{};  ///< time of the next call of `step`
    };

    /// A budget without an amount; replaced before use.
    constexpr budget() noexcept = default;
    /// A budget of `share` > 0 from `time` on; `used` is the job's CPU time so far.
    constexpr budget(millicores share, nanoseconds time, nanoseconds used) noexcept
        : quota_(share.count * (period.count / 1000)), left_(quota_), period_end_(time + period), last_time_(time),
          last_used_(used) {}

    /// Changes the share. CPU time of this period that was used, and a debt, remain.
    constexpr void change(millicores share) noexcept {
        std::int64_t const fresh = share.count * (period.count / 1000);
        left_ = std::min(left_ + fresh - quota_, fresh);
        quota_ = fresh;
    }

    /// Decides whether the job runs, given its CPU time so far. Call it again at `next` at the
    /// latest.
    [[nodiscard]] constexpr verdict step(nanoseconds time, nanoseconds used) noexcept {
        std::int64_t const spent = std::max<std::int64_t>(0, (used - last_used_).count);
        std::int64_t const elapsed = (time - last_time_).count;
        if (running_ && elapsed >= shortest_slice)
            rate_ = std::clamp<std::int64_t>(spent * 1000 / elapsed, 1000, 1'000'000);
        last_used_ = used;
        last_time_ = time;
        std::int64_t periods = 0;
        if (time >= period_end_) {
            periods = (time - period_end_).count / period.count + 1;
            period_end_ = period_end_ + nanoseconds{periods * period.count};
        }
        // More missed periods than the debt limit change nothing, and could overflow.
        periods = std::min<std::int64_t>(periods, periods_owed_at_most + 1);
        left_ = std::clamp(left_ - spent + periods * quota_, -periods_owed_at_most * quota_, quota_);
        running_ = running_ && periods == 0 ? left_ > 0 : left_ >= std::min(quota_, shortest_slice);
        if (!running_) return {.run = false, .next = period_end_};
        std::int64_t const slice = std::clamp(left_ * 1000 / rate_, shortest_slice, longest_slice);
        return {.run = true, .next = std::min(period_end_, time + nanoseconds{slice})};
    }

    /// The last decision.
    [[nodiscard]] constexpr bool running() const noexcept { return running_; }
    /// CPU time left in this period, negative for a debt. For tests and reports.
    [[nodiscard]] constexpr nanoseconds left() const noexcept { return {left_}; }

private:
    /// Shorter slices cost more than they give; also the least time between two calls.
    static constexpr std::int64_t shortest_slice = 500'000;
    /// The longest slice: a job that was nearly idle may wake all its threads, which must be
    /// noticed before the end of the period.
    static constexpr std::int64_t longest_slice = 25'000'000;
};

}  // namespace ration::process
