// SPDX-License-Identifier: BSL-1.0
/// The speed of one launch of a job, from its reports of steps.
#pragma once

#include <cstdint>
#include <optional>

#include <ration/units.hpp>

namespace ration::program {

/// Discards the reports of the warm-up, which begins with the first step, and counts the steps between two later
/// reports. Both ends are reports, so that a job which reports seldom is measured exactly too.
class step_window {
    struct mark {
        std::uint64_t step;
        nanoseconds at;
    };
    nanoseconds warm_up_, length_;
    std::optional<mark> first_, begin_, last_;

public:
    /// A measurement has at least this number of steps, also if they take longer than `length`.
    static constexpr std::uint64_t fewest_steps = 5;

    step_window(nanoseconds warm_up, nanoseconds length) noexcept : warm_up_(warm_up), length_(length) {}

    /// A report of `step`, the number of steps of the whole job. A job that returns to an earlier step starts the
    /// measurement again. Nothing changes after the measurement is complete.
    void add(std::uint64_t step, nanoseconds at) noexcept;

    [[nodiscard]] bool complete() const noexcept;
    /// Steps per second. Pre: the measurement is complete.
    [[nodiscard]] double rate() const noexcept;
    /// The time of the last report; none without a report.
    [[nodiscard]] std::optional<nanoseconds> last_report() const noexcept;
    /// The last step that was reported; 0 without a report.
    [[nodiscard]] std::uint64_t last_step() const noexcept { return last_ ? last_->step : 0; }
};

}  // namespace ration::program
