// SPDX-License-Identifier: BSL-1.0
// Mistake 5 of docs/adapting.md: a number is no target, since nobody knows of which metric, and which way is better.
#include <vector>

#include <ration/adapt_jobs.hpp>
#include <ration/allocate.hpp>
#include <ration/policies/equal_share.hpp>

struct entry {
    std::uint64_t id;
    double loss;
#ifdef RATION_MISUSE
    double target;
#else
    ration::two_tier_target target;
#endif
};
BOOST_HANA_ADAPT_STRUCT(entry, id, loss, target);

void share(std::vector<entry> const& queue) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted(queue), machine));  // [here]
}
