// SPDX-License-Identifier: BSL-1.0
// Costs that not every tick has: waking a worker that sleeps, and exchanging a policy.
#pragma once

namespace plugin_bench {

void print_wakes();

/// 200 exchanges of TRADL for itself, with its state.
void print_swaps();

}  // namespace plugin_bench
