// SPDX-License-Identifier: BSL-1.0
/// One [[job]] of jobs.toml.
#pragma once

#include <vector>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// The job as far as it can be read; what is wrong is added to `problems`.
[[nodiscard]] job_config read_job(table const& from, position at, diagnostics& problems);

/// The words of a command, at least one; empty with a problem, or without the key.
[[nodiscard]] std::vector<std::string> read_command(table_reader& keys, std::string_view key, diagnostics& problems);

/// `text` as a duration; otherwise a problem of `key` at `at`.
[[nodiscard]] std::optional<nanoseconds> read_duration(std::string_view key, std::string const& text, position at,
                                                       diagnostics& problems);

}  // namespace ration::program
