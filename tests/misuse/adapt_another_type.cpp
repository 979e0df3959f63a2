// SPDX-License-Identifier: BSL-1.0
// Mistake 4 of docs/adapting.md: half a step would be lost without a word.
#include <vector>

#include <ration/adapt/jobs.hpp>

struct entry {
    std::uint64_t id;
#ifdef RATION_MISUSE
    double step;
#else
    int step;
#endif
};
BOOST_HANA_ADAPT_STRUCT(entry, id, step);

void take(std::vector<entry> const& queue) {
    static_cast<void>(ration::adapted(queue));  // [here]
}
