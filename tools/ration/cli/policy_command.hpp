// SPDX-License-Identifier: BSL-1.0
/// `ration policy set`: changes the policy of the service.
#pragma once

#include "command_line/command.hpp"
#include "serve/control_client.hpp"

namespace ration::program {

void add_options(CLI::App& to, policy_options& into, option_context& context);

}  // namespace ration::program
