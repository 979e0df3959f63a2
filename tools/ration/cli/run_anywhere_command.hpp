// SPDX-License-Identifier: BSL-1.0
/// `ration run` with `--nodes`: the jobs of a file on this machine or on several.
#pragma once

#include "command_line/command.hpp"
#include "run/options.hpp"

namespace ration::program {

struct run_anywhere_options : run_options {};

void add_options(CLI::App& to, run_anywhere_options& into, option_context& context);
[[nodiscard]] exit_code run_anywhere(run_anywhere_options const& options);

}  // namespace ration::program
