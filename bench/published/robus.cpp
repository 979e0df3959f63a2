// SPDX-License-Identifier: BSL-1.0
// ROBUS: fair sharing of a cache beside the optimum, a partition and serial turns. See robus.hpp and
// docs/shared-cache.md.
#include "robus.hpp"

int main() {
    auto found = published::robus_scenario();
    published::add_decision_time(found);
    return published::conclude(found);
}
