// SPDX-License-Identifier: BSL-1.0
// Mistake 6 of docs/adapting.md: TRADL reads what each job uses of the CPU, and the struct has not named it.
#include <vector>

#include <ration/adapt/jobs.hpp>
#include <ration/allocate.hpp>
#include <ration/policies/tradl.hpp>

struct entry {
    std::uint64_t id;
    double loss, used_cpu;
};
#ifdef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, id, loss);
#else
BOOST_HANA_ADAPT_STRUCT(entry, id, loss, used_cpu);
#endif

void share(std::vector<entry> const& queue) {
    ration::policies::tradl policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted(queue), machine));  // [here]
}
