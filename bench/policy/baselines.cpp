// SPDX-License-Identifier: BSL-1.0
#include "baselines.hpp"

#include <algorithm>
#include <limits>

namespace policy_bench {

std::vector<std::int64_t> textbook(instance const& of) {
    auto const columns = static_cast<std::size_t>(of.devices) + 1, least = static_cast<std::size_t>(of.least);
    std::vector<double> best(columns, 0.0), next(columns);
    std::vector<std::uint8_t> chosen(of.jobs * columns);
    for (std::size_t j = 0; j < of.jobs; ++j) {
        double const* const value = &of.values[j * width];
        for (std::size_t k = 0; k < columns; ++k) {
            next[k] = -std::numeric_limits<double>::infinity();
            for (std::size_t g = least; g <= most && g <= k; ++g)
                if (value[g] >= 0 && value[g] + best[k - g] > next[k]) {
                    next[k] = value[g] + best[k - g];
                    chosen[j * columns + k] = static_cast<std::uint8_t>(g);
                }
        }
        best.swap(next);
    }
    std::vector<std::int64_t> given(of.jobs);
    std::size_t left = columns - 1;
    for (std::size_t j = of.jobs; j-- > 0; left -= chosen[j * columns + left]) given[j] = chosen[j * columns + left];
    return given;
}

double values_only(instance const& of) {
    auto const columns = static_cast<std::size_t>(of.devices) + 1, least = static_cast<std::size_t>(of.least);
    std::vector<double> best(columns, 0.0), next(columns);
    for (std::size_t j = 0; j < of.jobs; ++j) {
        std::fill(next.begin(), next.end(), -std::numeric_limits<double>::infinity());
        for (std::size_t g = least; g <= most && g < columns; ++g) {
            double const value = of.values[j * width + g], *const before = best.data();
            double* const now = next.data() + g;
            if (value < 0) continue;
            for (std::size_t k = 0; k < columns - g; ++k) {
                double const sum = value + before[k];
                now[k] = sum > now[k] ? sum : now[k];
            }
        }
        best.swap(next);
    }
    return best.back();
}

}  // namespace policy_bench
