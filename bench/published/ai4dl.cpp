// SPDX-License-Identifier: BSL-1.0
// AI4DL's phases beside limits that follow the last window: see ai4dl.hpp and docs/published.md.
#include "ai4dl_scenario.hpp"

int main() { return published::conclude(published::ai4dl_scenario(RATION_BENCH_DATA)); }
