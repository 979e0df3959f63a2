// SPDX-License-Identifier: BSL-1.0
// A policy here, on a second core of this process, and in a worker process, in turns.
#pragma once

namespace plugin_bench {

/// The calling thread or process stays on this core from now on, where there is more than one.
void stay_on(int core);

/// Prints one table: what a tick takes here, and how much more it takes elsewhere.
void print_turns();

}  // namespace plugin_bench
