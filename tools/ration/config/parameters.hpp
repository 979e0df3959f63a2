// SPDX-License-Identifier: BSL-1.0
/// The launch parameters of a job: values that the file names once, and that its command and environment refer to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>

#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// A name and its value as the job gets it.
using launch_parameter = std::pair<std::string, std::string>;

/// Whether a launch parameter may have this name: a letter, then letters, digits and '_'.
[[nodiscard]] bool is_parameter_name(std::string_view name) noexcept;

/// Reads `parameters`, and replaces `{NAME}` in the command and in the environment of the job by the values. Pre: both
/// have been read.
void read_launch_parameters(table_reader& keys, job_config& job, diagnostics& problems);

/// Those of a job by its index, in the order of the file. Pre: the text is a valid jobs file.
[[nodiscard]] std::vector<launch_parameter> launch_parameters_of(std::string_view text, std::size_t job);

/// `text` with other values of launch parameters of a job, all other bytes as they are. The result was parsed again.
/// Errors: the file has no such value on one line.
[[nodiscard]] result<std::string, diagnostic> with_launch_parameters(std::string_view text, std::size_t job,
                                                                     std::vector<launch_parameter> const& values);

}  // namespace ration::program
