// SPDX-License-Identifier: BSL-1.0
/// How far the training of one job is, by its reports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ration/progress/update.hpp>
#include <ration/target.hpp>

#include "run/live_job.hpp"

namespace ration::program {

struct training_progress {
    explicit training_progress(target_config const& of);

    target_config const* target;
    target_tracker tracker;
    std::uint64_t step = 0;
    std::uint64_t total_steps = 0;  ///< of the whole job, as it reports; 0 is unknown
    std::uint64_t batch = 0;        ///< samples per step over all ranks, likewise
    std::optional<double> first_value;
    std::optional<nanoseconds> acceptable_at, objective_at;

    /// The value of the metric at the next tier, if there is one.
    [[nodiscard]] std::optional<double> next_target() const noexcept;

    /// Takes one report. Returns true if the job reached a tier by it.
    bool take(progress::report const& reply, nanoseconds at);
};

/// Of jobs that have not reported yet, by slot of the job table.
[[nodiscard]] std::vector<training_progress> initial_progress(std::span<live_job const> jobs);

}  // namespace ration::program
