// SPDX-License-Identifier: BSL-1.0
/// The command line as data.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "run.hpp"

namespace ration::program {

/// The command line asks for nothing more than text: help, the version, or what is wrong with it.
struct answer {
    std::string text;  ///< with its newline
    exit_code code = exit_code::ok;
};

using command = std::variant<answer, run_options, doctor_options, policies_options, clean_options, check_options,
                             new_options, simulation_options, replay_options, report_options, bench_options>;

/// `words` are the arguments without the program's name. `policies` are the names that --policy and --compare may use
/// besides the path of a .so.
[[nodiscard]] command parse_command_line(std::vector<std::string> words, std::vector<std::string> const& policies);

/// Fills in `policies` of the options from the file: the one that --policy names, else the file's; for a comparison the
/// ones listed and, if it is not among them, that one last.
void choose_policies(run_options& options, run_config const& config);

}  // namespace ration::program
