// SPDX-License-Identifier: BSL-1.0
/// `ration serve`: runs the jobs that are submitted to it.
#pragma once

#include "command_line/command.hpp"
#include "serve/daemon.hpp"

namespace ration::program {

void add_options(CLI::App& to, serve_options& into, option_context& context);

}  // namespace ration::program
