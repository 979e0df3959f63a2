// SPDX-License-Identifier: BSL-1.0
/// Submission times of a synthetic workload.
///
/// Used by generator.hpp. The times depend on their arguments only, and are the same bits
/// everywhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/sim/clock.hpp>
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

/// Ascending times from 0 on, with `per_hour` jobs per hour in the long run. Precondition: per_hour > 0.
class arrival_times {
    arrival_pattern pattern_;
    rng gaps_, choices_;
    double overall_, now_ = 0;
    std::uint64_t index_ = 0;

public:
    /// The times that this seed gives.
    arrival_times(arrival_pattern pattern, double per_hour, std::uint64_t seed) noexcept
        : pattern_(pattern), gaps_(seed, 1), choices_(seed, 2),
          overall_(3600 / per_hour / (pattern == arrival_pattern::diurnal ? 1.8 : 1)) {}

    /// The next time. O(1) expected.
    [[nodiscard]] nanoseconds next() noexcept {
        // Thinning: candidates at the highest rate, each kept with the probability that the present rate implies
        for (;;) {
            std::uint64_t const index = index_++;
            now_ = std::fma(detail::mean_gap(pattern_, overall_, choices_, index), gaps_.exponential(index), now_);
            bool const thins = pattern_ == arrival_pattern::diurnal;
            if (!thins || choices_.uniform(index) * 1.8 < detail::diurnal_share(now_))
                return now_ < to_seconds(far_future) ? seconds(now_) : far_future;
        }
    }
};

/// The first `jobs` of these times. O(jobs).
[[nodiscard]] inline std::vector<nanoseconds> arrivals(arrival_pattern pattern, double per_hour, std::size_t jobs,
                                                       std::uint64_t seed) {
    arrival_times next(pattern, per_hour, seed);
    std::vector<nanoseconds> times(jobs);
    for (auto& time : times) time = next.next();
    return times;
}

}  // namespace ration::sim
