// SPDX-License-Identifier: BSL-1.0
// A policy as a class, on a second core, as a plugin in this process, and in a worker: asked in turns about the same
// jobs, in the same memory, so that what differs is the boundary and not the pages that each has got.
#pragma once

#include "table.hpp"

namespace plugin_bench {

/// Three policies that grant only what differs from the held amounts, and one that grants all; 1 to 100 000 jobs; three
/// kinds of change between two ticks.
void register_turns();

/// The measurements of register_turns, for those kinds of change that were run.
void print_turns(medians const& all);

/// By the host, on all the ticks that were timed.
[[nodiscard]] std::size_t allocated_on_ticks();

}  // namespace plugin_bench
