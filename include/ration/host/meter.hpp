// SPDX-License-Identifier: BSL-1.0
/// Rates from cumulative counters, such as CPU time and steps.
#pragma once

#include <cstdint>

#include <ration/units.hpp>

namespace ration {

/// The rate of a counter, smoothed over about one second. It is known after the first
/// `least_interval`.
class rate_meter {
    nanoseconds last_time_{-1};
    std::int64_t last_count_ = 0;
    double per_second_ = 0;
    bool known_ = false;

public:
    static constexpr nanoseconds least_interval =
        milliseconds(200);  // shorter intervals measure the scheduler, not the job
    /// The time constant of the smoothing.
    static constexpr nanoseconds memory = seconds(1);

    /// Adds a reading at `now`. A counter that has fallen (a new incarnation) restarts the meter.
    void read(nanoseconds now, std::int64_t count) noexcept {
        bool const afresh = last_time_.count < 0 || count < last_count_;
        nanoseconds const elapsed = now - last_time_;
        if (!afresh && elapsed < least_interval) return;
        if (afresh)
            known_ = false;
        else
            take(static_cast<double>(count - last_count_) / to_seconds(elapsed),
                 to_seconds(elapsed) / to_seconds(memory));
        last_time_ = now;
        last_count_ = count;
    }

    /// The rate per second; 0 until it is known.
    [[nodiscard]] double per_second() const noexcept { return known_ ? per_second_ : 0; }

private:
    void take(double rate, double elapsed_memories) noexcept {
        // An exponential mean for intervals of unequal length: old readings have the weight of one
        // `memory`.
        double const weight = known_ ? elapsed_memories / (1 + elapsed_memories) : 1;
        per_second_ += weight * (rate - per_second_);
        known_ = true;
    }
};

}  // namespace ration
