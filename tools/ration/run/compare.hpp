// SPDX-License-Identifier: BSL-1.0
/// The same jobs under several policies, side by side.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "events/events.hpp"

namespace ration::program {

/// How long the job needed from its arrival; none if it never got there.
[[nodiscard]] std::optional<nanoseconds> time_to_acceptable(job_summary const& job) noexcept;
[[nodiscard]] std::optional<nanoseconds> time_to_objective(job_summary const& job) noexcept;
[[nodiscard]] std::optional<nanoseconds> time_to_end(job_summary const& job) noexcept;

/// Which jobs the mean of the jobs that arrive after the first is over: all that have an Acceptable tier, arrive later
/// than the earliest one and reached it in every run, so that the means of two runs are over the same jobs. Indices
/// into `jobs`.
struct late_jobs {
    std::vector<std::size_t> counted, left_out;
};
[[nodiscard]] late_jobs jobs_after_the_first(std::span<run_summary const> runs);

/// The mean time to Acceptable over `counted`, in seconds; none if there are none.
[[nodiscard]] std::optional<double> mean_to_acceptable(run_summary const& run, late_jobs const& late);

/// A table as text, with lines ended by '\n': time to Acceptable and to Objective and to the end per job (from the
/// job's arrival), the mean time to Acceptable of the jobs that arrive after the first, makespan, mean CPU use; then
/// sentences on what did not go well or was approximate. Each run after the first has its change against the first in
/// %; one run alone has a table without changes. Precondition: every run has the same jobs in the same order.
[[nodiscard]] std::string comparison_text(std::span<run_summary const> runs);

/// The same as one line of JSON without newline; times in seconds, what was never reached is null.
[[nodiscard]] std::string comparison_json(std::span<run_summary const> runs);

}  // namespace ration::program
