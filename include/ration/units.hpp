// SPDX-License-Identifier: BSL-1.0
/// Quantities and identifiers as types, so that a row is not an id and milliseconds are not millicores.
#pragma once

#include <compare>
#include <cstdint>

namespace ration {

/// Names a job for as long as the host runs; never reused.
struct job_id {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(job_id, job_id) noexcept = default;
};

/// One incarnation of a job: +1 at every launch. A message of another incarnation speaks for a dead process.
struct incarnation_id {
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(incarnation_id, incarnation_id) noexcept = default;
};

/// A point or a length of time on the host's one clock; the simulator's is virtual.
struct nanoseconds {
    std::int64_t count = 0;
    friend constexpr auto operator<=>(nanoseconds, nanoseconds) noexcept = default;
    friend constexpr nanoseconds operator+(nanoseconds a, nanoseconds b) noexcept { return {a.count + b.count}; }
    friend constexpr nanoseconds operator-(nanoseconds a, nanoseconds b) noexcept { return {a.count - b.count}; }
};

[[nodiscard]] constexpr nanoseconds milliseconds(std::int64_t n) noexcept { return {n * 1'000'000}; }
[[nodiscard]] constexpr nanoseconds seconds(double n) noexcept { return {static_cast<std::int64_t>(n * 1e9)}; }
/// Divides, so that whole seconds stay whole; a product with 1e-9 would not.
[[nodiscard]] constexpr double to_seconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e9; }

/// CPU time per time: 1000 is one core.
struct millicores {
    std::int64_t count = 0;
    friend constexpr auto operator<=>(millicores, millicores) noexcept = default;
};

/// An amount of memory.
struct bytes {
    std::int64_t count = 0;
    friend constexpr auto operator<=>(bytes, bytes) noexcept = default;
};

}  // namespace ration
