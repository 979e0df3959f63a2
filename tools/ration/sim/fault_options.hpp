// SPDX-License-Identifier: BSL-1.0
/// The faults that `ration sim` is asked to simulate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/faults.hpp>

#include "common/diagnostics.hpp"
#include "sim/input.hpp"
#include "sim/options.hpp"

namespace ration::program {

/// Adds "losses:every=720h,repair=1h", "revocations:region=us-east1", "crashes:every=200h" or
/// "stragglers:every=24h,lasts=10m,speed=0.5" to what goes wrong. The diagnostic does not name the option; then `into`
/// may be half changed.
[[nodiscard]] result<void, diagnostic> add_fault_kind(std::string_view text, sim::fault_rates& into);

/// Gives every sample separate faults, from its seed. A trace becomes as many samples as there are seeds. What is
/// wrong is added to `problems`.
void draw_faults(simulation_options const& options, simulation_input& input, diagnostics& problems);

}  // namespace ration::program
