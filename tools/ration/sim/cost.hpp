// SPDX-License-Identifier: BSL-1.0
/// An estimate of the time that long simulations will take, before they start.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/runs.hpp"

namespace ration::program {

/// One sentence for each policy whose runs will take more than half a minute together. The estimate follows from the
/// bounds, so it holds for the best schedule: others take longer. Streams have no bounds and no estimate.
[[nodiscard]] std::vector<std::string> long_runs(simulation_options const& options, simulation_input const& input,
                                                 std::span<policy_text const> policies);

}  // namespace ration::program
