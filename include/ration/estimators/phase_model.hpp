// SPDX-License-Identifier: BSL-1.0
/// The phases of one class of jobs, and the demand that follows each of them.
///
/// `fit_phases` (phase_fit.hpp) learns a model, and the estimator `phases` applies it. Source: J. L. Berral, C. Wang,
/// A. Youssef, "AI4DL: Mining Behaviors of Deep Learning Workloads for Resource Management", HotCloud 2020.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ration/target.hpp>

namespace ration::estimators {

/// The use of a job during one period.
struct usage_sample {
    double at = 0;              ///< seconds, at the end of the period
    double cpu = 0;             ///< mean, in millicores
    double memory = 0;          ///< largest, in bytes
    bool is_throttled = false;  ///< a limit held the job back, so that `cpu` is not its demand
};

/// Value of `jobs/phase` for a job whose phase is unknown.
inline constexpr std::uint32_t no_phase = 0xFFFF'FFFF;

/// Samples by which a phase is recognised.
inline constexpr std::size_t phase_window = 4;
/// The newest samples of a job; the last one is the newest.
using usage_window = std::array<usage_sample, phase_window>;

/// Parts of the samples ahead that the quantiles of a demand cover.
inline constexpr std::array<double, 4> demand_quantiles{0.5, 0.9, 0.95, 0.99};
/// A demand at each of `demand_quantiles`.
using quantile_values = std::array<double, demand_quantiles.size()>;
/// The quantile that the columns `jobs/expected.R` show: 0.9.
inline constexpr std::size_t expected_quantile = 1;

/// Phases are the centres of clusters of windows. A window is the z-scores of CPU and memory of its samples.
struct phase_model {
    /// Phases of one model.
    static constexpr std::size_t most_phases = 8;
    /// Coordinates of a window: CPU and memory of each sample.
    static constexpr std::size_t width = 2 * phase_window;
    /// A window as a point.
    using point = std::array<double, width>;

    /// Mean and standard deviation of a measurement.
    struct scale {
        double mean = 0, deviation = 1;
        [[nodiscard]] constexpr double of(double value) const noexcept { return (value - mean) / deviation; }
    };
    /// One phase.
    struct phase {
        point centre{};
        quantile_values cpu{}, memory{};  ///< demand within the horizon after a sample of the phase; millicores, bytes
        std::uint32_t samples = 0;        ///< that it was learned from
    };

    double period = 2;    ///< seconds from one sample to the next
    double horizon = 60;  ///< seconds ahead, for which the quantiles hold
    scale cpu, memory;
    std::uint32_t count = 0;  ///< of phases; 0 = nothing is known
    std::array<phase, most_phases> phases{};

    /// The window as a point.
    [[nodiscard]] constexpr point encode(usage_window const& window) const noexcept {
        point p{};
        for (std::size_t i = 0; i < phase_window; ++i) {
            p[2 * i] = cpu.of(window[i].cpu);
            p[2 * i + 1] = memory.of(window[i].memory);
        }
        return p;
    }
    /// The number of the phase with the nearest centre; `no_phase` without phases. O(phases).
    [[nodiscard]] constexpr std::uint32_t phase_of(usage_window const& window) const noexcept {
        point const p = encode(window);
        std::uint32_t nearest = no_phase;
        double least = std::numeric_limits<double>::infinity();
        for (std::uint32_t i = 0; i < count; ++i)
            if (double const d = squared_distance(p, phases[i].centre); d < least) {
                least = d;
                nearest = i;
            }
        return nearest;
    }
    /// Whether the model can be applied: for models that come from outside.
    [[nodiscard]] constexpr bool is_valid() const noexcept {
        if (!(period > 0 && is_finite(period) && horizon > 0 && is_finite(horizon)) || count > most_phases)
            return false;
        for (auto const& s : {cpu, memory})
            if (!is_finite(s.mean) || !is_finite(s.deviation) || !(s.deviation > 0)) return false;
        for (std::size_t i = 0; i < count; ++i)
            if (!are_finite(phases[i].centre) || !are_demands(phases[i].cpu) || !are_demands(phases[i].memory))
                return false;
        return true;
    }

    /// Between two windows.
    [[nodiscard]] static constexpr double squared_distance(point const& a, point const& b) noexcept {
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
        return sum;
    }

private:
    [[nodiscard]] static constexpr bool are_finite(point const& p) noexcept {
        for (double const value : p)
            if (!is_finite(value)) return false;
        return true;
    }
    /// Finite, not below 0, and ascending.
    [[nodiscard]] static constexpr bool are_demands(quantile_values const& values) noexcept {
        double former = 0;
        for (double const value : values) {
            if (!is_finite(value) || value < former) return false;
            former = value;
        }
        return true;
    }
};

}  // namespace ration::estimators
