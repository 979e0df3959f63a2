// SPDX-License-Identifier: BSL-1.0
/// The regular expressions by which ration reads the output of a job that does not report by itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// The names of the presets, for frameworks whose output ration can read.
[[nodiscard]] std::vector<std::string_view> log_presets();

/// The patterns of a preset, which read `loss` and `metric`. Error: an unknown name, or a metric that cannot be a
/// group.
[[nodiscard]] result<std::vector<std::string>, diagnostic> preset_patterns(std::string_view preset,
                                                                           std::string const& metric);

/// Whether a group of the pattern reads this metric.
[[nodiscard]] bool has_group(std::string const& pattern, std::string const& metric);

/// Refuses patterns that cannot be compiled or lack a group. `metric`: of the job's target, for which one pattern needs
/// a group; empty when it is not known.
[[nodiscard]] result<void, diagnostic> check_log_patterns(std::vector<std::string> const& patterns,
                                                          std::string const& metric);

/// The patterns of `log` in a job's table; empty if the job reports by itself, or with a problem.
[[nodiscard]] std::vector<std::string> read_log(table_reader& keys, target_config const& target, diagnostics& problems);

}  // namespace ration::program
