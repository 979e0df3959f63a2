// SPDX-License-Identifier: BSL-1.0
// A vector column of a table whose rows could be of any length.
#include <array>
#include <vector>

#include <ration/adapt/table.hpp>
#include <ration/policies/equal_share.hpp>

struct queue {
    std::vector<std::uint64_t> id;
#ifdef RATION_MISUSE
    std::vector<std::vector<double>> speedup;
#else
    std::vector<std::array<double, 9>> speedup;
#endif
};
BOOST_HANA_ADAPT_STRUCT(queue, id, speedup);

void share(queue const& jobs) {
    ration::policies::equal_share policy;
    ration::capacities const machine[] = {{.cpu = 8000}};
    static_cast<void>(ration::allocate(policy, ration::adapted_table(jobs), machine));  // [here]
}
