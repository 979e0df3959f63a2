// SPDX-License-Identifier: BSL-1.0
/// All subcommands of `ration`.
#pragma once

#include "command_line/command.hpp"

namespace ration::program {

[[nodiscard]] command_table all_commands();

}  // namespace ration::program
