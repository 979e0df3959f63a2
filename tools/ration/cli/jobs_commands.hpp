// SPDX-License-Identifier: BSL-1.0
/// `ration cancel`, `ration pause` and `ration resume`: the commands that change jobs of the service.
#pragma once

#include "command_line/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, cancel_options& into, option_context& context);
void add_options(CLI::App& to, pause_options& into, option_context& context);
void add_options(CLI::App& to, resume_options& into, option_context& context);

}  // namespace ration::program
