// SPDX-License-Identifier: BSL-1.0
// FfDL's gangs and placements, theirs beside ours: see ffdl.hpp and docs/published.md. An argument is the path of a
// trace of Philly.
#include "ffdl.hpp"

int main(int count, char** words) {
    return published::conclude(published::ffdl_scenario({.philly = count > 1 ? words[1] : nullptr}));
}
