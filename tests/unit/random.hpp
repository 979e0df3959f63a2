// SPDX-License-Identifier: BSL-1.0
/// Random numbers of tests: the same for the same seed, on every machine.
#pragma once

#include <cstdint>

namespace unit {

class rng {
    std::uint64_t state_;

    std::uint64_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return state_;
    }

public:
    explicit rng(std::uint64_t seed) : state_(seed) {}

    /// From 0 to `bound` - 1. Precondition: `bound` > 0.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return (next() >> 33) % bound; }
    [[nodiscard]] bool one_in(std::uint64_t n) { return below(n) == 0; }
    /// From 0 to below 1.
    [[nodiscard]] double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

}  // namespace unit
