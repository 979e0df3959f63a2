// SPDX-License-Identifier: BSL-1.0
/// `ration status`: the jobs of the service, also while it is down.
#pragma once

#include "command_line/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, status_options& into, option_context& context);

}  // namespace ration::program
