// SPDX-License-Identifier: BSL-1.0
/// The regular expression by which ration reads the output of a job that does not report by itself.
#pragma once

#include <string>
#include <string_view>

namespace ration::program {

/// A sentence on what is wrong with the pattern, or empty. `metric`: of the job's target, for which the pattern needs a
/// group; empty when it is not known.
[[nodiscard]] std::string problem_with_log(std::string const& pattern, std::string const& metric);

}  // namespace ration::program
