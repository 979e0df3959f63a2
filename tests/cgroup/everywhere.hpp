// SPDX-License-Identifier: BSL-1.0
// One test on each machine that the program has.
#pragma once

#include "machine.hpp"
#include "support/catch.hpp"

namespace cgroup_test {

// Runs `body(machine)` on each; afterwards nothing of ours may be there.
template <class Body>
void everywhere(Body body) {
    for (auto const& each : machines()) {
        INFO(each->name());
        body(*each);
        CHECK(left_behind(each->calls()) == std::vector<std::string>{});
    }
}

}  // namespace cgroup_test
