// SPDX-License-Identifier: BSL-1.0
// Mistake 2 of docs/adapting.md: grants name jobs by their ids, and the struct tells none.
#include <vector>

#include <ration/adapt_jobs.hpp>
#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct entry {
    std::uint64_t id;
    double loss;
};
#ifdef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, loss);
#else
BOOST_HANA_ADAPT_STRUCT(entry, id, loss);
#endif

void share(std::vector<entry> const& queue) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted(queue), machine));  // [here]
}
