// SPDX-License-Identifier: BSL-1.0
/// `ration version`: prints the version.
#pragma once

#include "cli/command.hpp"

namespace ration::program {

struct version_options {};

void add_options(CLI::App& to, version_options& into, option_context& context);
[[nodiscard]] exit_code print_version(version_options const& options);

}  // namespace ration::program
