// SPDX-License-Identifier: BSL-1.0
/// `ration clean`: ends the jobs of killed runs, and removes their records and groups.
#pragma once

#include "command_line/command.hpp"
#include "run/orphan_cleaner.hpp"

namespace ration::program {

void add_options(CLI::App& to, clean_options& into, option_context& context);

}  // namespace ration::program
