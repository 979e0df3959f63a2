// SPDX-License-Identifier: BSL-1.0
/// `ration measure`: one command for each measurement.
#pragma once

#include "command_line/command.hpp"
#include "measure/phases.hpp"
#include "measure/scaling.hpp"
#include "measure/serve_load.hpp"
#include "measure/tune.hpp"

namespace ration::program {

void add_options(CLI::App& to, scaling_options& into, option_context& context);
void add_options(CLI::App& to, tune_options& into, option_context& context);
void add_options(CLI::App& to, serve_measure_options& into, option_context& context);
void add_options(CLI::App& to, phases_options& into, option_context& context);

}  // namespace ration::program
