// SPDX-License-Identifier: BSL-1.0
/// The same jobs under several policies, side by side.
#pragma once

#include <span>
#include <string>

#include "events.hpp"

namespace ration::program {

/// A table as text, with lines ended by '\n': time to Acceptable and to Objective per job (from the job's arrival), the mean time
/// to Acceptable of the jobs that arrive after the first, makespan, mean CPU use, how each job ended. Each run after the first has
/// its change against the first in %. Precondition: every run has the same jobs in the same order.
[[nodiscard]] std::string comparison_text(std::span<run_summary const> runs);

/// The same as one line of JSON without newline. What was never reached is null.
[[nodiscard]] std::string comparison_json(std::span<run_summary const> runs);

/// The table of one run, for its end.
[[nodiscard]] std::string summary_text(run_summary const& run);

}  // namespace ration::program
