// SPDX-License-Identifier: BSL-1.0
// What is not of every tick: waking a worker that sleeps, and exchanging a policy.
#pragma once

namespace plugin_bench {

void print_wakes();

/// 200 exchanges of TRADL for itself, with its state.
void print_swaps();

}  // namespace plugin_bench
