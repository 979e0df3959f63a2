// SPDX-License-Identifier: BSL-1.0
/// Gradients against central finite differences, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "layers.hpp"

namespace trainers::testing {

/// What every claimed gradient must stay below.
inline constexpr double tolerance = 1e-5;

/// The largest error of `claimed`, each relative to the derivative it claims, but for derivatives below a thousandth of
/// the largest, where rounding would drown the comparison, to that thousandth. `loss` reads the numbers `at`, which are
/// changed one by one and put back.
template <class Loss>
[[nodiscard]] double worst_error(std::span<double> at, std::span<double const> claimed, Loss const& loss) {
    std::vector<double> measured;
    double largest = 0;
    for (double& x : at) {
        double const here = x, h = 1e-5 * std::max(1.0, std::abs(here));
        x = here + h;
        double const above = loss();
        x = here - h;
        double const below = loss();
        x = here;
        measured.push_back((above - below) / (2 * h));
        largest = std::max(largest, std::abs(measured.back()));
    }
    double worst = largest > 0 ? 0 : HUGE_VAL;  // derivatives that are all zero prove nothing
    for (std::size_t i = 0; i < measured.size(); ++i)
        worst = std::max(worst, std::abs(claimed[i] - measured[i]) / std::max(std::abs(measured[i]), largest * 1e-3));
    return worst;
}

/// The same for all numbers of all parameters; their gradients must be set. `loss` may set them again.
template <class Loss>
[[nodiscard]] double worst_error(parameters<double> const& learned, Loss const& loss) {
    std::vector<std::vector<double>> claimed;
    for (auto* p : learned) claimed.emplace_back(p->gradient.flat().begin(), p->gradient.flat().end());
    double worst = learned.empty() ? HUGE_VAL : 0;
    for (std::size_t i = 0; i < learned.size(); ++i)
        worst = std::max(worst, worst_error(learned[i]->value.flat(), claimed[i], loss));
    return worst;
}

inline void randomise(std::span<double> numbers, rng& random, double low = -1, double high = 1) {
    for (double& x : numbers) x = random.between(low, high);
}

/// Biases too, so that no part of a model starts at a special value.
inline void randomise(parameters<double> const& learned, rng& random) {
    for (auto* p : learned) randomise(p->value.flat(), random, -0.5, 0.5);
}

}  // namespace trainers::testing
