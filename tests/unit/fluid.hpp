// SPDX-License-Identifier: BSL-1.0
// A machine as a fluid: jobs share it max-min fairly under their limits and up to their demand, as CFS does for busy
// threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace unit {

/// Fractions of the machine.
struct fluid_job {
    double demand = 1;
    double limit = 1;
    double use = 0;
};

/// Sets each job's use. No job gets more than its demand or limit; the other jobs share the remainder equally.
inline void share_out(std::vector<fluid_job>& jobs) {
    double left = 1;
    std::vector<fluid_job*> thirsty;
    for (auto& j : jobs) {
        j.use = 0;
        thirsty.push_back(&j);
    }
    std::sort(thirsty.begin(), thirsty.end(),
              [](auto* a, auto* b) { return std::min(a->demand, a->limit) < std::min(b->demand, b->limit); });
    for (std::size_t i = 0; i < thirsty.size(); ++i) {
        double const fair = left / static_cast<double>(thirsty.size() - i);
        thirsty[i]->use = std::min({thirsty[i]->demand, thirsty[i]->limit, fair});
        left -= thirsty[i]->use;
    }
}

[[nodiscard]] inline double total_use(std::vector<fluid_job> const& jobs) {
    double sum = 0;
    for (auto const& j : jobs) sum += j.use;
    return sum;
}

}  // namespace unit
