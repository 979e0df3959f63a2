// SPDX-License-Identifier: BSL-1.0
/// The arithmetic of a duty cycle: when a job that may use so much CPU time per period must stop, and when it may go
/// on. No clock and no process in here, so that it can be tested to the nanosecond.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ration/units.hpp>

namespace ration::process {

/// A budget of CPU time, refilled every period. What a job takes beyond its budget is owed and taken from the next
/// periods, so the average is right even though the stop comes a little late; what it leaves is lost, so that it cannot
/// save up a burst.
class budget {
    std::int64_t quota_ = 0;    ///< CPU time per period, ns
    std::int64_t left_ = 0;     ///< of this period, ns; negative: owed
    std::int64_t rate_ = 1000;  ///< CPU time per 1000 ns of running, as last seen
    nanoseconds period_end_{}, last_time_{}, last_used_{};
    bool running_ = true;

public:
    static constexpr nanoseconds period = milliseconds(100);
    /// Nobody is kept waiting for longer than this by what is owed; the rest of the debt is forgiven.
    static constexpr std::int64_t periods_owed_at_most = 10;

    struct verdict {
        bool run = true;
        nanoseconds next{};  ///< when to ask again
    };

    constexpr budget() noexcept = default;
    /// `share` > 0, from now on, `used` being the job's CPU time so far.
    constexpr budget(millicores share, nanoseconds time, nanoseconds used) noexcept
        : quota_(share.count * (period.count / 1000)), left_(quota_), period_end_(time + period), last_time_(time),
          last_used_(used) {}

    /// Another share from now on; what was used up or owed in this period stays so.
    constexpr void change(millicores share) noexcept {
        std::int64_t const fresh = share.count * (period.count / 1000);
        left_ = std::min(left_ + fresh - quota_, fresh);
        quota_ = fresh;
    }

    /// What shall happen now, given the job's CPU time so far. Call it again no later than at `next`.
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
        // More than the debt limit's worth of missed periods says nothing new, and could overflow.
        periods = std::min<std::int64_t>(periods, periods_owed_at_most + 1);
        left_ = std::clamp(left_ - spent + periods * quota_, -periods_owed_at_most * quota_, quota_);
        running_ = running_ && periods == 0 ? left_ > 0 : left_ >= std::min(quota_, shortest_slice);
        if (!running_) return {.run = false, .next = period_end_};
        std::int64_t const slice = std::clamp(left_ * 1000 / rate_, shortest_slice, longest_slice);
        return {.run = true, .next = std::min(period_end_, time + nanoseconds{slice})};
    }

    [[nodiscard]] constexpr bool running() const noexcept { return running_; }
    /// For tests and for people: CPU time left in this period, negative when owed.
    [[nodiscard]] constexpr nanoseconds left() const noexcept { return {left_}; }

private:
    /// Below this a stop and a start cost more than they take; also the least time between two looks.
    static constexpr std::int64_t shortest_slice = 500'000;
    /// A job that was nearly idle may wake all its threads; do not find out only at the period's end.
    static constexpr std::int64_t longest_slice = 25'000'000;
};

}  // namespace ration::process
