// SPDX-License-Identifier: BSL-1.0
/// `ration cancel`: stops jobs of the service.
#pragma once

#include "cli/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, cancel_options& into, option_context& context);

}  // namespace ration::program
