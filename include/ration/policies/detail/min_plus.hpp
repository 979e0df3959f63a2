// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The inner loop of `loss_dp`, vectorised by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace ration::policies::detail {

/// A number of devices for a job, and the loss of the sum by that choice.
struct lossy_choice {
    std::int64_t devices = 0;
    double loss = 0;
};

/// `min_plus` reads and writes up to this number of elements, less one, beyond its range.
inline constexpr std::int64_t min_plus_lanes = 64;

// One function for each width of vectors. A macro, because code that is inlined into a function for
// a newer processor would still be compiled for the old one.
#define RATION_MIN_PLUS(name, bytes, ...)                                                                    \
    __VA_ARGS__ inline void name(double const* from, double* to, std::int64_t first, std::int64_t last,      \
                                 std::span<lossy_choice const> choices) noexcept {                           \
        using pack [[gnu::vector_size(bytes)]] = double;                                                     \
        constexpr std::size_t wide = sizeof(pack) / sizeof(double), packs = 8; /* which stay in registers */ \
        static_assert(wide * packs <= static_cast<std::size_t>(min_plus_lanes));                             \
        for (std::int64_t k = first; k <= last; k += static_cast<std::int64_t>(wide * packs)) {              \
            pack best[packs];                                                                                \
            for (pack & b : best) b = pack{} + std::numeric_limits<double>::infinity();                      \
            for (lossy_choice const& c : choices) {                                                          \
                double const* const at = from + (k - c.devices);                                             \
                pack const loss = pack{} + c.loss;                                                           \
                for (std::size_t i = 0; i < packs; ++i) {                                                    \
                    pack sum;                                                                                \
                    std::memcpy(&sum, at + i * wide, sizeof sum);                                            \
                    sum += loss;                                                                             \
                    best[i] = sum < best[i] ? sum : best[i];                                                 \
                }                                                                                            \
            }                                                                                                \
            for (std::size_t i = 0; i < packs; ++i) {                                                        \
                pack const found = best[i];                                                                  \
                std::memcpy(to + k + i * wide, &found, sizeof found);                                        \
            }                                                                                                \
        }                                                                                                    \
    }
RATION_MIN_PLUS(min_plus_of_two, 16)  // available on every x86-64 and AArch64
#ifdef __x86_64__
RATION_MIN_PLUS(min_plus_of_four, 32, [[gnu::target("avx2")]])
RATION_MIN_PLUS(min_plus_of_eight, 64, [[gnu::target("avx512f")]])
#endif
#undef RATION_MIN_PLUS

/// to[k] = min over c of choices[c].loss + from[k - choices[c].devices], for k from `first` to
/// `last`. Elements beyond are written with meaningless values. Uses the widest vectors of the
/// processor; the result does not depend on them.
inline void min_plus(double const* from, double* to, std::int64_t first, std::int64_t last,
                     std::span<lossy_choice const> choices) noexcept {
#ifdef __x86_64__
    // Short ranges are not worth wide vectors: most lanes would be wasted.
    if (last - first >= 48 && __builtin_cpu_supports("avx512f"))
        return min_plus_of_eight(from, to, first, last, choices);
    if (last - first >= 24 && __builtin_cpu_supports("avx2")) return min_plus_of_four(from, to, first, last, choices);
#endif
    min_plus_of_two(from, to, first, last, choices);
}

}  // namespace ration::policies::detail
