// SPDX-License-Identifier: BSL-1.0
/// `ration run`: the jobs of a file under one policy, or under several one after another.
#pragma once

#include "cli/command.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace ration::program {

void add_options(CLI::App& to, run_options& into, option_context& context);
[[nodiscard]] exit_code run_file(run_options const& options);

/// Fills in `policies` of the options: the one that --policy names, else the file's; for a comparison the ones listed
/// and, if it is not among them with any parameters, that one last. Error: `--compare` has a wrong parameter.
[[nodiscard]] result<void, diagnostic> choose_policies(run_options& options, run_config const& config);

}  // namespace ration::program
