// SPDX-License-Identifier: BSL-1.0
/// `ration pause`: lets jobs of the service wait.
#pragma once

#include "cli/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, pause_options& into, option_context& context);

}  // namespace ration::program
