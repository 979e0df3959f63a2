// SPDX-License-Identifier: BSL-1.0
#include <ration/cgroup/detail/cpu_set.hpp>

int main() {
    auto const cpus = ration::cgroup::cpu_set::parse("0-2,5");
    return cpus && cpus->size() == 4 ? 0 : 1;
}
