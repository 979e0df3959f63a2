// SPDX-License-Identifier: BSL-1.0
/// `ration node`: the agent of one node. `ration run --nodes` starts it.
#pragma once

#include "command_line/command.hpp"
#include "nodes/agent.hpp"

namespace ration::program {

void add_options(CLI::App& to, node_options& into, option_context& context);

}  // namespace ration::program
