// SPDX-License-Identifier: BSL-1.0
/// The use of CPU and memory that an event log has of each job.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ration/estimators/phase_model.hpp>
#include <ration/result.hpp>
#include <ration/sim/diagnostic.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// For each job by its name, the samples of each of its runs.
using usage_by_job = std::map<std::string, std::vector<std::vector<estimators::usage_sample>>>;

/// Adds the samples of a log: one for each period in which a job ran. A sample counts as throttled if a limit held the
/// job back, or if its use came within 5 % of its CPU limit. Errors: the file cannot be read, or a line is not an
/// event.
[[nodiscard]] result<void, diagnostic> add_usage(std::string const& path, nanoseconds period, usage_by_job& to);

}  // namespace ration::program
