// SPDX-License-Identifier: BSL-1.0
#include "cli/doctor_command.hpp"

#include <CLI/CLI.hpp>

namespace ration::program {

void add_options(CLI::App& to, doctor_options& into, option_context&) { to.add_flag("--json", into.json, "As JSON"); }

}  // namespace ration::program
