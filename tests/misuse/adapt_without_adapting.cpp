// SPDX-License-Identifier: BSL-1.0
// Mistake 1 of docs/adapting.md: the struct is passed, and never adapted.
#include <vector>

#include <ration/adapt_jobs.hpp>
#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct entry {
    std::uint64_t id;
    double loss;
};
#ifndef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, id, loss);
#endif

void share(std::vector<entry> const& queue) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted(queue), machine));  // [here]
}
