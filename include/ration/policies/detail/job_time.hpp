// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The predicted size of a job, by which `sjf`, `srtf` and `gittins` sort.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace ration::policies {

/// The meaning of "short": seconds, or seconds times the requested devices.
enum class job_measure : std::uint8_t { time, service };
/// The words of `job_measure` in a configuration, in the order of its values.
inline constexpr std::string_view job_measure_names[] = {"time", "service"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(job_measure) noexcept { return job_measure_names; }

namespace detail {

/// The time of `steps` at `rate` steps/s, in seconds or device-seconds; infinite if it is unknown.
[[nodiscard]] constexpr double size_of_work(double steps, double rate, std::int64_t devices, job_measure by) noexcept {
    if (!(steps >= 0 && rate > 0)) return std::numeric_limits<double>::infinity();
    return steps / rate * (by == job_measure::service ? static_cast<double>(devices) : 1);
}

}  // namespace detail
}  // namespace ration::policies
