// SPDX-License-Identifier: BSL-1.0
/// When the jobs of a synthetic workload are submitted.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <ration/sim/rng.hpp>
#include <ration/units.hpp>

namespace ration::sim {

enum class arrival_pattern : std::uint8_t {
    poisson,  ///< independently of each other
    bursty,   ///< in bursts of 8 on average, seconds apart; the bursts independently of each other
    /// As poisson, at a rate that rises in a straight line from 1/5 of the mean at midnight to 9/5 at noon, and falls
    /// again
    diurnal,
};

namespace detail {

/// Share of the mean rate at this second, from 0.2 to 1.8.
[[nodiscard]] inline double diurnal_share(double second) noexcept {
    double const hour = std::fmod(second, 86400.0) / 3600;
    return std::fma(1 - std::fabs(hour / 12 - 1), 1.6, 0.2);
}

/// Mean seconds from the job before to job `index`.
[[nodiscard]] inline double mean_gap(arrival_pattern pattern, double overall, rng const& choices,
                                     std::uint64_t index) noexcept {
    constexpr double burst = 8, seconds_apart = 5;
    if (pattern != arrival_pattern::bursty) return overall;
    double const apart = seconds_apart < overall ? seconds_apart : overall;
    return choices.uniform(index) * burst < 1 ? std::fma(burst, overall, -(burst - 1) * apart) : apart;
}

}  // namespace detail

/// Ascending times from 0 on, `per_hour` of them in the long run. Precondition: per_hour > 0. O(jobs).
[[nodiscard]] inline std::vector<nanoseconds> arrivals(arrival_pattern pattern, double per_hour, std::size_t jobs,
                                                       std::uint64_t seed) {
    rng const gaps(seed, 1), choices(seed, 2);
    // Candidates at the highest rate, kept as often as the rate says
    bool const thins = pattern == arrival_pattern::diurnal;
    double const overall = 3600 / per_hour / (thins ? 1.8 : 1);
    std::vector<nanoseconds> times;
    times.reserve(jobs);
    double now = 0;
    for (std::uint64_t index = 0; times.size() < jobs; ++index) {
        now = std::fma(detail::mean_gap(pattern, overall, choices, index), gaps.exponential(index), now);
        if (thins && choices.uniform(index) * 1.8 >= detail::diurnal_share(now)) continue;
        times.push_back(seconds(now));
    }
    return times;
}

}  // namespace ration::sim
