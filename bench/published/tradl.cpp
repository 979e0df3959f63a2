// SPDX-License-Identifier: BSL-1.0
// TRADL's three scenarios, theirs beside ours: see tradl.hpp and docs/published.md.
#include "tradl.hpp"

int main() { return published::conclude(published::tradl_scenario({}, RATION_BENCH_DATA "/loss/fits.csv")); }
