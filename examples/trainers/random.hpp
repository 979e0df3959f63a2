// SPDX-License-Identifier: BSL-1.0
/// Numbers that depend on the seed alone: the standard fixes what the engine gives, but not what its distributions make
/// of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace trainers {

class rng {
    std::mt19937_64 engine_;

public:
    explicit rng(std::uint64_t seed) : engine_(seed) {}

    /// In [0, 1), in steps of 2^-53.
    [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

    [[nodiscard]] double between(double low, double high) { return low + (high - low) * uniform(); }

    /// 0 to n - 1. Precondition: 0 < n < 2^32. No number is favoured by more than n / 2^32.
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return ((engine_() >> 32) * n) >> 32; }

    /// Mean 0, variance 1 (Box and Muller, 1958).
    [[nodiscard]] double normal() {
        double const radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }
};

}  // namespace trainers
