// SPDX-License-Identifier: BSL-1.0
/// `ration top`: a live view of the service.
#pragma once

#include "command_line/command.hpp"
#include "serve/top.hpp"

namespace ration::program {

void add_options(CLI::App& to, top_options& into, option_context& context);

}  // namespace ration::program
