// SPDX-License-Identifier: BSL-1.0
/// Manual pages in the form of man(7).
#pragma once

#include <string>

#include "command_line/description.hpp"

namespace ration::program {

/// "ration-run", "ration-measure-scaling".
[[nodiscard]] std::string page_name(described_command const& command);
/// ration(1), with the commands.
[[nodiscard]] std::string man_page(described_program const& program);
/// ration-COMMAND(1).
[[nodiscard]] std::string man_page(described_program const& program, described_command const& command);

}  // namespace ration::program
