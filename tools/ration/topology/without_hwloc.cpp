// SPDX-License-Identifier: BSL-1.0
#include "topology/machine_topology.hpp"

namespace ration::program {

machine_topology find_topology() {
    return {.reader = {},
            .machine = {},
            .why_not = "this program was built without hwloc",
            .remedy = "install libhwloc-dev and configure and build ration again"};
}

}  // namespace ration::program
