// SPDX-License-Identifier: BSL-1.0
// Mistake 4 of docs/adapting.md: half a step would be lost without a word.
#include <vector>

#include <ration/adapt_jobs.hpp>
#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct entry {
    std::uint64_t id;
#ifdef RATION_MISUSE
    double step;
#else
    int step;
#endif
};
BOOST_HANA_ADAPT_STRUCT(entry, id, step);

void share(std::vector<entry> const& queue) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted(queue), machine));  // [here]
}
