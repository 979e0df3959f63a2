// SPDX-License-Identifier: BSL-1.0
// Mistake 5 of docs/adapting.md: a number is not a target, since it has neither a metric nor a better direction.
#include <vector>

#include <ration/adapt/jobs.hpp>

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

void take(std::vector<entry> const& queue) {
    static_cast<void>(ration::adapted(queue));  // [here]
}
