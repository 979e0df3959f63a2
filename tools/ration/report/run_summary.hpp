// SPDX-License-Identifier: BSL-1.0
/// The summary of a run, made from its log: in a complete log the one that the run wrote itself.
#pragma once

#include <string>

#include "events/events.hpp"
#include "report/run_history.hpp"

namespace ration::program {

[[nodiscard]] job_summary summary_of(job_record const& job);

/// With all jobs of the run.
[[nodiscard]] run_summary summary_of(run_history const& run, std::string label);

}  // namespace ration::program
