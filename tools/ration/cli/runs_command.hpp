// SPDX-License-Identifier: BSL-1.0
/// `ration runs`: the past and present runs that were started in a folder.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace ration::program {

struct runs_options {
    std::string folder = ".";
    bool json = false;
};

void add_options(CLI::App& to, runs_options& into, option_context& context);
[[nodiscard]] exit_code list_past_runs(runs_options const& options);

}  // namespace ration::program
