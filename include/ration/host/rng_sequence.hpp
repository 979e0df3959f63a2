// SPDX-License-Identifier: BSL-1.0
/// The random number generator of ration, and a sequence of numbers of it for synthetic clusters and probes. The
/// simulator addresses the same generator by index (sim/rng.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace ration {

/// What SplitMix64 adds to its state before each number.
inline constexpr std::uint64_t splitmix64_step = 0x9e37'79b9'7f4a'7c15;

/// The number of SplitMix64 in this state. O(1). Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
/// number generators", OOPSLA 2014.
[[nodiscard]] constexpr std::uint64_t splitmix64(std::uint64_t state) noexcept {
    std::uint64_t z = state + splitmix64_step;
    z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
    z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
    return z ^ (z >> 31);
}

/// Random numbers one after another, the same on every run of one seed.
class rng_sequence {
    std::uint64_t state_;

public:
    explicit constexpr rng_sequence(std::uint64_t seed) noexcept : state_(seed) {}

    /// Any 64 bits.
    [[nodiscard]] constexpr std::uint64_t any() noexcept {
        return splitmix64(std::exchange(state_, state_ + splitmix64_step));
    }
    /// From 0 to `bound` - 1. Precondition: `bound` > 0.
    [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound) noexcept { return any() % bound; }
    /// True with probability 1 / `times`. Precondition: `times` > 0.
    [[nodiscard]] constexpr bool once_in(std::uint64_t times) noexcept { return below(times) == 0; }

    /// Puts the elements of a container with `size()` and `operator[]` into a random order. O(size).
    template <class Container>
    constexpr void shuffle(Container& values) noexcept {
        for (std::size_t left = values.size(); left > 1; --left) std::swap(values[left - 1], values[below(left)]);
    }
};

}  // namespace ration
