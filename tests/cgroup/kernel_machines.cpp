// SPDX-License-Identifier: BSL-1.0
// The suite's real machine: the running kernel as it is, and where it has both versions, once more without v2.
#include <cstdio>
#include <cstdlib>

#include "machine.hpp"

std::vector<std::unique_ptr<cgroup_test::machine>> cgroup_test::machines() {
    std::vector<std::unique_ptr<machine>> all;
    all.push_back(std::make_unique<kernel_machine>(true));
    {
        auto const usable = backend::open(all.front()->calls(), {.name = run_name_here(), .cpus = {}});
        if (!usable) {
            error const& why = usable.failure();
            std::printf("skipped: no cgroups can be used here: %s %s: %s\n", why.operation, why.subject.c_str(),
                        why.remedy);
            std::exit(77);
        }
        if (usable->hierarchies().owner(controller::cpu).kind == version::v2 ||
            !usable->hierarchies().has(controller::core)) {
            return all;
        }
    }
    all.push_back(std::make_unique<kernel_machine>(false));
    return all;
}
