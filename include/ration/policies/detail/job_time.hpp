// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace ration::policies {

/// What "short" means: seconds, or seconds times the devices that the job asks for.
enum class job_measure : std::uint8_t { time, service };
inline constexpr std::string_view job_measure_names[] = {"time", "service"};
[[nodiscard]] constexpr std::span<std::string_view const> words_of(job_measure) noexcept { return job_measure_names; }

namespace detail {

/// Infinite where it is unknown.
[[nodiscard]] constexpr double size_of_work(double steps, double rate, std::int64_t devices, job_measure by) noexcept {
    if (!(steps >= 0 && rate > 0)) return std::numeric_limits<double>::infinity();
    return steps / rate * (by == job_measure::service ? static_cast<double>(devices) : 1);
}

}  // namespace detail
}  // namespace ration::policies
