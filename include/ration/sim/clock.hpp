// SPDX-License-Identifier: BSL-1.0
/// The range of simulated time: no sum of times leaves it.
#pragma once

#include <cstdint>

#include <ration/units.hpp>

namespace ration::sim {

/// The end of the clock: a run that is longer ends with `ending::time_limit`. 285 years, which leaves room in 64 bits.
inline constexpr nanoseconds longest_run{9'000'000'000'000'000'000};
/// Any time that is later; no event happens then.
inline constexpr nanoseconds far_future{9'200'000'000'000'000'000};

/// The time `passed` after `from`, or `far_future`. Precondition: `passed` is at least 0.
[[nodiscard]] constexpr nanoseconds later_by(nanoseconds from, nanoseconds passed) noexcept {
    std::int64_t sum = 0;
    bool const overflows = __builtin_add_overflow(from.count, passed.count, &sum);
    return overflows || sum > far_future.count ? far_future : nanoseconds{sum};
}

/// The length `times` times over, or `far_future`. Precondition: both are at least 0.
[[nodiscard]] constexpr nanoseconds repeated(nanoseconds length, std::int64_t times) noexcept {
    std::int64_t product = 0;
    bool const overflows = __builtin_mul_overflow(length.count, times, &product);
    return overflows || product > far_future.count ? far_future : nanoseconds{product};
}

/// Converts to the nearest nanosecond, at most `far_future`. Precondition: `n` is at least 0.
[[nodiscard]] constexpr nanoseconds time_of(double n) noexcept {
    double const count = n * 1e9 + 0.5;
    return count < static_cast<double>(far_future.count) ? nanoseconds{static_cast<std::int64_t>(count)} : far_future;
}

}  // namespace ration::sim
