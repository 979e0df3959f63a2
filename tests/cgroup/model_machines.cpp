// SPDX-License-Identifier: BSL-1.0
// The suite's machines in memory.
#include "machine.hpp"

std::vector<std::unique_ptr<cgroup_test::machine>> cgroup_test::machines() {
    std::vector<std::unique_ptr<machine>> all;
    for (flavour const which : {flavour::v1, flavour::hybrid, flavour::v2}) {
        all.push_back(std::make_unique<model_machine>(which));
        all.push_back(std::make_unique<model_machine>(which, "user"));
    }
    return all;
}
