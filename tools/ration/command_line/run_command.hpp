// SPDX-License-Identifier: BSL-1.0
/// `ration run`: the jobs of a file under one policy, or under several one after another.
#pragma once

#include "command_line/command.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace ration::program {

inline constexpr auto help_of_run = "Run the jobs of a file under a policy";

void add_options(CLI::App& to, run_options& into, option_context& context);
/// Reads the file and the policies, and calls `start` with them.
[[nodiscard]] exit_code run_file(run_options const& options, exit_code (&start)(run_options const&, run_config const&));
/// On this machine alone.
[[nodiscard]] exit_code run_here(run_options const& options);

/// Fills in `policies` of the options: the one that --policy names, else the file's; for a comparison the ones listed
/// and, if it is not among them with any parameters, that one last. Error: `--compare` has a wrong parameter.
[[nodiscard]] result<void, diagnostic> choose_policies(run_options& options, run_config const& config);

}  // namespace ration::program
