// SPDX-License-Identifier: BSL-1.0
/// `ration run --nodes`: the controller of a run on several nodes.
#pragma once

#include "common/exit_code.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace ration::program {

/// As `run`. Pre: `options.nodes` is not empty.
[[nodiscard]] exit_code run_on_nodes(run_options const& options, run_config const& config);

}  // namespace ration::program
