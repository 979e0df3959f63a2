// SPDX-License-Identifier: BSL-1.0
/// `ration report`: event logs and simulations as one page of HTML.
#pragma once

#include <string>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct report_options {
    std::vector<std::string> logs;  ///< runs, event logs, or what `ration sim --json` printed; at least one
    std::string out;                ///< path of the page; empty: beside the first log, with .html at its end
};

void add_options(CLI::App& to, report_options& into, option_context& context);
[[nodiscard]] exit_code report(report_options const& options);

}  // namespace ration::program
