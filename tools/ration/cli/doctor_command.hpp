// SPDX-License-Identifier: BSL-1.0
/// `ration doctor`: what can be controlled on this machine.
#pragma once

#include "command_line/command.hpp"
#include "doctor/doctor.hpp"

namespace ration::program {

void add_options(CLI::App& to, doctor_options& into, option_context& context);

}  // namespace ration::program
