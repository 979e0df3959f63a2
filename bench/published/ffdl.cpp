// SPDX-License-Identifier: BSL-1.0
// FfDL's two results on placement beside ours: see ffdl.hpp and docs/published.md.
#include "ffdl.hpp"

int main() { return published::conclude(published::ffdl_scenario()); }
