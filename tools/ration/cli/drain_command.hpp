// SPDX-License-Identifier: BSL-1.0
/// `ration drain`: lets the service launch no further job.
#pragma once

#include "command_line/command.hpp"
#include "serve/control_client.hpp"

namespace ration::program {

void add_options(CLI::App& to, drain_options& into, option_context& context);

}  // namespace ration::program
