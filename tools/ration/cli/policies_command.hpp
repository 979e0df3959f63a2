// SPDX-License-Identifier: BSL-1.0
/// `ration policies`: what can be named in `policy = "..."`, compiled in and in files.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct policies_options {
    bool json = false;
    std::string show;                ///< the one to describe, with its parameters
    std::vector<std::string> paths;  ///< files and folders with plugins to list as well
};

void add_options(CLI::App& to, policies_options& into, option_context& context);
[[nodiscard]] exit_code list_policies(policies_options const& options);

}  // namespace ration::program
