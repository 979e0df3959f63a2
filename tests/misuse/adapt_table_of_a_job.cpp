// SPDX-License-Identifier: BSL-1.0
// A struct that is one job is not a table of jobs.
#include <vector>

#include <ration/adapt/table.hpp>
#include <ration/policies/equal_share.hpp>

struct queue {
#ifdef RATION_MISUSE
    std::uint64_t id;
#else
    std::vector<std::uint64_t> id;
#endif
};
BOOST_HANA_ADAPT_STRUCT(queue, id);

void share(queue const& jobs) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted_table(jobs), machine));  // [here]
}
