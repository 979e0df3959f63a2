// SPDX-License-Identifier: BSL-1.0
// Sia's worked example, theirs beside ours: see sia.hpp and docs/published.md.
#include "sia.hpp"

int main() { return published::conclude(published::sia_scenario()); }
