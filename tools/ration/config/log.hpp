// SPDX-License-Identifier: BSL-1.0
/// The regular expression by which ration reads the output of a job that does not report by itself.
#pragma once

#include <string>

#include "common/diagnostics.hpp"

namespace ration::program {

/// Refuses a pattern that cannot be compiled or lacks a group. `metric`: of the job's target, for which the pattern
/// needs a group; empty when it is not known.
[[nodiscard]] result<void, diagnostic> check_log_pattern(std::string const& pattern, std::string const& metric);

}  // namespace ration::program
