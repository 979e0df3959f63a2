// SPDX-License-Identifier: BSL-1.0
/// Replaces the text of a jobs file in one step.
#pragma once

#include <string>
#include <string_view>

#include <ration/sim/diagnostic.hpp>

namespace ration::program {

/// Whether `replace_jobs_file` could replace the file now. Errors: the folder cannot be written to, the file has
/// another owner, or it has hard links, which would keep the old text.
[[nodiscard]] result<void, diagnostic> check_replaceable(std::string const& file);

/// Replaces the file by one with the same mode; a symbolic link stays. Errors: those of `check_replaceable`, the file
/// no longer contains `expected`, or writing failed. Then the file is as before.
[[nodiscard]] result<void, diagnostic> replace_jobs_file(std::string const& file, std::string_view expected,
                                                         std::string_view text);

}  // namespace ration::program
