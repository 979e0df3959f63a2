// SPDX-License-Identifier: BSL-1.0
/// How far the training of one job is, or how well a service holds its level, by its reports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <ration/level.hpp>
#include <ration/progress/update.hpp>
#include <ration/target.hpp>

#include "run/live_job.hpp"

namespace ration::program {

class training_progress {
    std::variant<target_tracker, level_tracker> tracker_;
    bool held_ = false;  // the level, at the last `update_level`

public:
    explicit training_progress(target_config const& of);

    target_config const* target;
    std::uint64_t step = 0;
    std::uint64_t total_steps = 0;  ///< of the whole job, as it reports; 0 is unknown
    std::uint64_t batch = 0;        ///< samples per step over all ranks, likewise
    std::optional<double> first_value;
    std::optional<nanoseconds> acceptable_at, objective_at;

    /// Tiers reached; for a level 1 while it holds.
    [[nodiscard]] std::uint32_t tier() const noexcept;
    /// The mean of the metric over the window, if that has values.
    [[nodiscard]] std::optional<double> smoothed() const noexcept;
    /// The best such mean; none for a level.
    [[nodiscard]] std::optional<double> best() const noexcept;
    /// The value of the metric at the next tier, if there is one.
    [[nodiscard]] std::optional<double> next_target() const noexcept;
    /// Null for a job with tiers.
    [[nodiscard]] level_tracker const* level() const noexcept { return std::get_if<level_tracker>(&tracker_); }

    /// Takes one report. Returns true if the job reached a tier by it; never for a level.
    bool take(progress::report const& reply, nanoseconds at);
    /// Moves the window of a level on. Returns true if the level holds now and did not at the last call, or the
    /// reverse.
    bool update_level(nanoseconds now) noexcept;
    /// Its process has ended. Values of two incarnations are not averaged towards a tier; a level has no value until
    /// the next report.
    void end_incarnation(nanoseconds now) noexcept;
};

/// Of jobs that have not reported yet, by slot of the job table.
[[nodiscard]] std::vector<training_progress> initial_progress(std::span<live_job const> jobs);

}  // namespace ration::program
