// SPDX-License-Identifier: BSL-1.0
/// `ration replay`: what other policies would have answered in a recorded run.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct replay_options {
    std::string log;                    ///< an event log
    std::vector<std::string> policies;  ///< names or paths of a .so
    std::vector<std::string> settings;  ///< as `add_setting` takes them; they override the log's jobs file
    bool json = false;
};

void add_options(CLI::App& to, replay_options& into, option_context& context);
[[nodiscard]] exit_code replay(replay_options const& options);

}  // namespace ration::program
