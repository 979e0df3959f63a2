// SPDX-License-Identifier: BSL-1.0
/// Numbers that look random and are the same on every run of one seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ration::conformance {

/// Splitmix64: the whole state is one number.
class rng {
    std::uint64_t state_;

public:
    explicit rng(std::uint64_t seed) noexcept : state_(seed) {}

    [[nodiscard]] std::uint64_t any() noexcept {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }
    [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return any() % bound; }
    [[nodiscard]] bool once_in(std::uint64_t times) noexcept { return below(times) == 0; }

    template <class T>
    void shuffle(std::vector<T>& values) noexcept {
        for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
    }
};

}  // namespace ration::conformance
