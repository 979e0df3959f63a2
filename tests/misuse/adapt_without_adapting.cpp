// SPDX-License-Identifier: BSL-1.0
// Mistake 1 of docs/adapting.md: the struct is passed, and never adapted.
#include <vector>

#include <ration/adapt/jobs.hpp>

struct entry {
    std::uint64_t id;
    double loss;
};
#ifndef RATION_MISUSE
BOOST_HANA_ADAPT_STRUCT(entry, id, loss);
#endif

void take(std::vector<entry> const& queue) {
    static_cast<void>(ration::adapted(queue));  // [here]
}
