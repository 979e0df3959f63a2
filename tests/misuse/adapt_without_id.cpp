// SPDX-License-Identifier: BSL-1.0
// Mistake 2 of docs/adapting.md: grants name jobs by their ids, and the struct has none.
#include <vector>

#include <ration/adapt/jobs.hpp>

struct entry {
    std::uint64_t id;
    double loss;
};
#ifdef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, loss);
#else
BOOST_HANA_ADAPT_STRUCT(entry, id, loss);
#endif

void take(std::vector<entry> const& queue) {
    static_cast<void>(ration::adapted(queue));  // [here]
}
