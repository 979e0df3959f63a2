// SPDX-License-Identifier: BSL-1.0
/// `ration twin`: a recorded run beside its simulation.
#pragma once

#include "command_line/command.hpp"
#include "twin/options.hpp"

namespace ration::program {

void add_options(CLI::App& to, twin_options& into, option_context& context);
[[nodiscard]] exit_code show_twin(twin_options const& options);

}  // namespace ration::program
