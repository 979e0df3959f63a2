// SPDX-License-Identifier: BSL-1.0
/// Submission times of a synthetic workload.
///
/// Used by generator.hpp. The times depend on their arguments only, and are the same bits
/// everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <ration/sim/rng.hpp>
#include <ration/units.hpp>

namespace ration::sim {

/// The pattern of submissions.
enum class arrival_pattern : std::uint8_t {
    poisson,  ///< independent of each other
    bursty,   ///< in bursts of 8 on average, seconds apart; the bursts are independent
    /// As poisson, with a rate that rises linearly from 1/5 of the mean at midnight to 9/5 at noon,
    /// and falls again
    diurnal,
};

namespace detail {

/// The rate at this second of the simulation, relative to the mean: from 0.2 to 1.8.
[[nodiscard]] inline double diurnal_share(double second) noexcept {
    double const hour = std::fmod(second, 86400.0) / 3600;
    return std::fma(1 - std::fabs(hour / 12 - 1), 1.6, 0.2);
}

/// Mean seconds between job `index` - 1 and job `index`.
[[nodiscard]] inline double mean_gap(arrival_pattern pattern, double overall, rng const& choices,
                                     std::uint64_t index) noexcept {
    constexpr double burst = 8, seconds_apart = 5;
    if (pattern != arrival_pattern::bursty) return overall;
    double const apart = seconds_apart < overall ? seconds_apart : overall;
    return choices.uniform(index) * burst < 1 ? std::fma(burst, overall, -(burst - 1) * apart) : apart;
}

}  // namespace detail

/// Ascending times from 0 on, with `per_hour` jobs per hour in the long run. Precondition: per_hour
/// > 0. O(jobs).
[[nodiscard]] inline std::vector<nanoseconds> arrivals(arrival_pattern pattern, double per_hour, std::size_t jobs,
                                                       std::uint64_t seed) {
    rng const gaps(seed, 1), choices(seed, 2);
    // Thinning: candidates at the highest rate, each kept with the probability that the present
    // rate implies
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
