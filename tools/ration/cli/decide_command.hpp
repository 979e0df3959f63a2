// SPDX-License-Identifier: BSL-1.0
/// `ration decide`: asks a policy about the tables of another scheduler, over standard input and output.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct decide_options {
    std::string policy;                 ///< a name or the path of a .so
    std::vector<std::string> settings;  ///< as `add_setting` takes them
};

void add_options(CLI::App& to, decide_options& into, option_context& context);
[[nodiscard]] exit_code decide(decide_options const& options);

}  // namespace ration::program
