// SPDX-License-Identifier: BSL-1.0
/// `ration resume`: lets paused jobs start again.
#pragma once

#include "cli/command.hpp"
#include "serve/client.hpp"

namespace ration::program {

void add_options(CLI::App& to, resume_options& into, option_context& context);

}  // namespace ration::program
