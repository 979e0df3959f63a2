// SPDX-License-Identifier: BSL-1.0
/// `ration list`: the runs of this user that are alive, with their jobs.
#pragma once

#include "command_line/command.hpp"

namespace ration::program {

struct list_options {
    bool json = false;
};

void add_options(CLI::App& to, list_options& into, option_context& context);
[[nodiscard]] exit_code list_runs(list_options const& options);

}  // namespace ration::program
