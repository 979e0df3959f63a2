// SPDX-License-Identifier: BSL-1.0
/// `ration logs`: the output of a job of a run or of the service, of all of its incarnations.
#pragma once

#include <string>

#include "command_line/command.hpp"

namespace ration::program {

struct logs_options {
    std::string job;
    std::string run;    ///< a name of `ration runs`, or the path of a run's folder; empty: the newest one
    std::string state;  ///< of --state; empty: the default folder, for a job that the run does not have
    bool follow = false;
};

void add_options(CLI::App& to, logs_options& into, option_context& context);
[[nodiscard]] exit_code print_log(logs_options const& options);

}  // namespace ration::program
