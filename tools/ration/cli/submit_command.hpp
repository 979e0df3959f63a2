// SPDX-License-Identifier: BSL-1.0
/// `ration submit`: gives a job to the service.
#pragma once

#include "command_line/command.hpp"
#include "serve/submit_client.hpp"

namespace ration::program {

void add_options(CLI::App& to, submit_options& into, option_context& context);

}  // namespace ration::program
