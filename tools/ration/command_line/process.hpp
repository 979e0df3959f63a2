// SPDX-License-Identifier: BSL-1.0
/// The parts of `main` that the whole program and that of examples/quickstart.sh share.
#pragma once

#include "command_line/command.hpp"

namespace ration::program {

/// Opens the standard streams that are closed, and makes a failed write an error instead of a signal. False: they
/// cannot be opened.
[[nodiscard]] bool prepare_process();

/// Performs the command that the words of `main` ask for, or the work of a plugin's worker process. Returns the exit
/// code.
[[nodiscard]] int perform_command_line(int count, char** words, command_table const& table);

}  // namespace ration::program
