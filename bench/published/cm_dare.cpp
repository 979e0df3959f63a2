// SPDX-License-Identifier: BSL-1.0
// CM-DARE's saturation of a parameter server, theirs beside ours: see cm_dare.hpp and docs/published.md.
#include "cm_dare.hpp"

int main() { return published::conclude(published::cm_dare_scenario()); }
