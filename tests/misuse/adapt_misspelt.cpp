// SPDX-License-Identifier: BSL-1.0
// Mistake 3 of docs/adapting.md: a member that is called like no column would be ignored, and the policy would see 0.
#include <vector>

#include <ration/adapt/jobs.hpp>

struct entry {
    std::uint64_t id;
    double weight, urgency;
};
#ifdef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, id, urgency);
#else
BOOST_HANA_ADAPT_STRUCT(entry, id, weight);
#endif

void take(std::vector<entry> const& queue) {
    static_cast<void>(ration::adapted(queue));  // [here]
}
