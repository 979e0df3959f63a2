// SPDX-License-Identifier: BSL-1.0
/// `ration wait`: waits for a job of the service.
#pragma once

#include "command_line/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, wait_options& into, option_context& context);

}  // namespace ration::program
