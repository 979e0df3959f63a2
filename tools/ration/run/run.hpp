// SPDX-License-Identifier: BSL-1.0
/// Runs jobs under one policy, or under several one after another.
#pragma once

#include "common/exit_code.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace ration::program {

/// `config` has no problems left but those that only the policy or the machine can see; what the command line sets
/// instead of the file is in it.
[[nodiscard]] exit_code run(run_options const& options, run_config const& config);

}  // namespace ration::program
