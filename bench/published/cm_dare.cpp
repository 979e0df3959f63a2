// SPDX-License-Identifier: BSL-1.0
// CM-DARE's parameter servers, transient servers and lost workers, theirs beside ours: see cm_dare.hpp and
// docs/published.md.
#include "cm_dare_scenario.hpp"

int main() { return published::conclude(published::cm_dare_scenario(RATION_BENCH_DATA)); }
