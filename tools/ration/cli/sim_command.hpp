// SPDX-License-Identifier: BSL-1.0
/// `ration sim`: jobs on a simulated cluster, under several policies.
#pragma once

#include "command_line/command.hpp"
#include "sim/options.hpp"

namespace ration::program {

void add_options(CLI::App& to, simulation_options& into, option_context& context);
[[nodiscard]] exit_code simulate(simulation_options const& options);

}  // namespace ration::program
