// SPDX-License-Identifier: BSL-1.0
// Wei and Shudo's three experiments, theirs beside ours: see wei_shudo.hpp and docs/published.md.
#include "wei_shudo.hpp"

int main() { return published::conclude(published::wei_shudo_scenario()); }
