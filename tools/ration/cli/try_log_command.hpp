// SPDX-License-Identifier: BSL-1.0
/// `ration try-log`: what a `log` pattern would read from the output of a job.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct try_log_options {
    std::string file;                   ///< "-": standard input
    std::vector<std::string> patterns;  ///< these, or `preset`
    std::string preset;
    std::string metric;  ///< of the target; empty: not given
    bool json = false;
};

void add_options(CLI::App& to, try_log_options& into, option_context& context);
[[nodiscard]] exit_code try_log(try_log_options const& options);

}  // namespace ration::program
