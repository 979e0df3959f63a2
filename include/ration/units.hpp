// SPDX-License-Identifier: BSL-1.0
/// Quantities and identifiers as types, so that a row cannot be passed as an id, or milliseconds as
/// millicores.
///
/// Used by every other header. The types are plain structs with a public `count` or `value`;
/// columns and the plugin ABI hold the number alone.
#pragma once

#include <compare>
#include <cstdint>

namespace ration {

/// The identifier of a job, unique for the lifetime of the host and never reused.
struct job_id {
    /// The number in the column `jobs/id`.
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(job_id, job_id) noexcept = default;
};

/// One incarnation of a job; each launch adds 1. A message with another incarnation comes from a
/// process that has been replaced, and is discarded.
struct incarnation_id {
    /// The number in the variable `RATION_INCARNATION` of the job.
    std::uint32_t value = 0;
    friend constexpr auto operator<=>(incarnation_id, incarnation_id) noexcept = default;
};

/// A point or a length of time on the host's clock; the simulator's clock is virtual.
struct nanoseconds {
    /// Nanoseconds. 64 bits hold 292 years in each direction.
    std::int64_t count = 0;
    friend constexpr auto operator<=>(nanoseconds, nanoseconds) noexcept = default;
    friend constexpr nanoseconds operator+(nanoseconds a, nanoseconds b) noexcept { return {a.count + b.count}; }
    friend constexpr nanoseconds operator-(nanoseconds a, nanoseconds b) noexcept { return {a.count - b.count}; }
};

/// A length of time from whole milliseconds.
[[nodiscard]] constexpr nanoseconds milliseconds(std::int64_t n) noexcept { return {n * 1'000'000}; }
/// A length of time from seconds; parts below a nanosecond are cut off.
[[nodiscard]] constexpr nanoseconds seconds(double n) noexcept { return {static_cast<std::int64_t>(n * 1e9)}; }
/// The time in seconds. It divides by 1e9, so that whole seconds are exact; a product with 1e-9 is
/// not.
[[nodiscard]] constexpr double to_seconds(nanoseconds t) noexcept { return static_cast<double>(t.count) / 1e9; }

/// CPU time per time: 1000 is one core.
struct millicores {
    /// Thousandths of a core.
    std::int64_t count = 0;
    friend constexpr auto operator<=>(millicores, millicores) noexcept = default;
};

/// An amount of memory.
struct bytes {
    /// The number of bytes.
    std::int64_t count = 0;
    friend constexpr auto operator<=>(bytes, bytes) noexcept = default;
};

}  // namespace ration
