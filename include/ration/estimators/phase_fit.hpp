// SPDX-License-Identifier: BSL-1.0
/// Learns the phases of a class of jobs from recorded usage.
///
/// For hosts and programs that record jobs; it allocates, and no tick needs it. Source of the method: AI4DL, as in
/// phase_model.hpp. Its encoder is a conditional restricted Boltzmann machine over the same window; here the window
/// itself is clustered.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ration/detail/sort.hpp>
#include <ration/estimators/phase_model.hpp>
#include <ration/host/rng_sequence.hpp>

namespace ration::estimators {

/// Settings of `fit_phases`. Number of phases and seed are those of AI4DL's program.
struct phase_fit_options {
    std::uint32_t phases = 5;  ///< at most `phase_model::most_phases`
    double period = 2;         ///< seconds from one sample to the next
    double horizon = 60;       ///< seconds
    std::uint64_t seed = 123;
};

namespace detail {

/// The q-quantile of ascending values, with straight lines in between; 0 without values.
[[nodiscard]] inline double quantile_of(std::span<double const> ascending, double q) noexcept {
    if (ascending.empty()) return 0;
    double const at = q * static_cast<double>(ascending.size() - 1);
    auto const low = static_cast<std::size_t>(at);
    std::size_t const high = low + 1 < ascending.size() ? low + 1 : low;
    return ascending[low] + (at - static_cast<double>(low)) * (ascending[high] - ascending[low]);
}

/// Clusters points: k-means++ starts, then Lloyd's iterations until no centre moves, at most 50.
class k_means {
    using point = phase_model::point;

    std::vector<point> const& points_;
    std::vector<point> centres_;
    std::vector<double> distances_;  // of each point to the nearest centre

public:
    /// Precondition: there are points, and `k` is at least 1. Finds fewer than `k` clusters if fewer points differ.
    k_means(std::vector<point> const& points, std::uint32_t k, std::uint64_t seed) : points_(points) {
        start(k, seed);
        for (int i = 0; i < 50 && iterate(); ++i) {
        }
    }
    [[nodiscard]] std::vector<point> const& centres() const noexcept { return centres_; }

private:
    /// Each further centre is a point, drawn by its squared distance to the nearest one.
    void start(std::uint32_t k, std::uint64_t seed) {
        rng_sequence random(seed);
        centres_.push_back(points_[random.below(points_.size())]);
        distances_.assign(points_.size(), std::numeric_limits<double>::infinity());
        while (centres_.size() < k) {
            double sum = 0;
            for (std::size_t i = 0; i < points_.size(); ++i) {
                double const d = phase_model::squared_distance(points_[i], centres_.back());
                if (d < distances_[i]) distances_[i] = d;
                sum += distances_[i];
            }
            if (!(sum > 0)) return;
            double left = static_cast<double>(random.any() >> 11) * 0x1p-53 * sum;  // uniform below `sum`
            std::size_t chosen = 0;
            while (chosen + 1 < points_.size() && left >= distances_[chosen]) left -= distances_[chosen++];
            centres_.push_back(points_[chosen]);
        }
    }
    [[nodiscard]] std::size_t nearest(point const& p) const noexcept {
        std::size_t found = 0;
        for (std::size_t i = 1; i < centres_.size(); ++i)
            if (phase_model::squared_distance(p, centres_[i]) < phase_model::squared_distance(p, centres_[found]))
                found = i;
        return found;
    }
    /// Moves each centre to the mean of its points. Returns false if none moved.
    [[nodiscard]] bool iterate() {
        std::vector<point> sums(centres_.size());
        std::vector<std::size_t> sizes(centres_.size());
        for (auto const& p : points_) {
            std::size_t const c = nearest(p);
            for (std::size_t d = 0; d < p.size(); ++d) sums[c][d] += p[d];
            ++sizes[c];
        }
        bool moved = false;
        for (std::size_t c = 0; c < centres_.size(); ++c) {
            if (sizes[c] == 0) continue;
            for (double& value : sums[c]) value /= static_cast<double>(sizes[c]);
            moved = moved || sums[c] != centres_[c];
            centres_[c] = sums[c];
        }
        return moved;
    }
};

/// Learns one model from the recorded runs of one class.
class phase_fitter {
    using samples = std::vector<usage_sample>;

    std::span<samples const> runs_;
    phase_fit_options options_;
    phase_model model_;

public:
    phase_fitter(std::span<samples const> runs, phase_fit_options const& options) : runs_(runs), options_(options) {
        model_.period = options.period;
        model_.horizon = options.horizon;
    }

    [[nodiscard]] phase_model fit() {
        model_.cpu = scale_of(&usage_sample::cpu);
        model_.memory = scale_of(&usage_sample::memory);
        std::vector<phase_model::point> points;
        for (auto const& run : runs_)
            for (std::size_t i = phase_window; i <= run.size(); ++i)
                if (is_demand(run, i)) points.push_back(model_.encode(window_before(run, i)));
        if (points.empty() || options_.phases == 0) return model_;
        bool const fits = options_.phases <= phase_model::most_phases;
        k_means const clusters(points, fits ? options_.phases : phase_model::most_phases, options_.seed);
        model_.count = static_cast<std::uint32_t>(clusters.centres().size());
        for (std::size_t i = 0; i < clusters.centres().size(); ++i) model_.phases[i].centre = clusters.centres()[i];
        set_demands();
        return model_;
    }

private:
    [[nodiscard]] static usage_window window_before(samples const& run, std::size_t end) noexcept {
        usage_window window;
        for (std::size_t i = 0; i < phase_window; ++i) window[i] = run[end - phase_window + i];
        return window;
    }
    /// No sample of the window is throttled.
    [[nodiscard]] static bool is_demand(samples const& run, std::size_t end) noexcept {
        for (std::size_t i = end - phase_window; i < end; ++i)
            if (run[i].is_throttled) return false;
        return true;
    }

    [[nodiscard]] phase_model::scale scale_of(double usage_sample::* member) const {
        double sum = 0, squares = 0, n = 0;
        auto const for_each = [&](auto const& take) {
            for (auto const& run : runs_)
                for (auto const& s : run)
                    if (!s.is_throttled) take(s.*member);
        };
        for_each([&](double value) {
            sum += value;
            n += 1;
        });
        double const mean = n > 0 ? sum / n : 0;
        for_each([&](double value) { squares += (value - mean) * (value - mean); });
        double const deviation = n > 0 ? std::sqrt(squares / n) : 0;
        return {.mean = mean, .deviation = deviation > 0 ? deviation : 1};
    }

    /// The quantiles of all samples within the horizon after a sample of each phase. At the end of a run, where nothing
    /// follows, the sample itself counts.
    void set_demands() {
        std::vector<std::vector<double>> cpu(model_.count), memory(model_.count);
        for (auto const& run : runs_)
            for (std::size_t end = phase_window; end <= run.size(); ++end) {
                if (!is_demand(run, end)) continue;
                std::uint32_t const phase = model_.phase_of(window_before(run, end));
                if (phase >= model_.count) continue;  // a measurement without a distance to any centre
                model_.phases[phase].samples += 1;
                std::size_t const from = end < run.size() ? end : end - 1;
                double const until = run[end - 1].at + options_.horizon;
                for (std::size_t i = from; i < run.size() && (run[i].at <= until || i == from); ++i) {
                    if (run[i].is_throttled) continue;
                    cpu[phase].push_back(run[i].cpu);
                    memory[phase].push_back(run[i].memory);
                }
            }
        for (std::size_t i = 0; i < model_.count; ++i) {
            model_.phases[i].cpu = quantiles_of(cpu[i]);
            model_.phases[i].memory = quantiles_of(memory[i]);
        }
    }
    [[nodiscard]] static quantile_values quantiles_of(std::vector<double>& values) {
        ration::detail::sort(values.data(), values.size(), [](double a, double b) noexcept { return a < b; });
        quantile_values all{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = quantile_of(values, demand_quantiles[i]);
        return all;
    }
};

}  // namespace detail

/// The phases of these runs of one class; each run has its samples in the order of time. Throttled samples are left
/// out. Precondition: the measurements are finite, and below 1e100. `count` is 0 if no run has `phase_window` samples.
/// The same runs give the same model. O(windows x phases) for each of at most 50 iterations, and O(samples x samples
/// within the horizon).
[[nodiscard]] inline phase_model fit_phases(std::span<std::vector<usage_sample> const> runs,
                                            phase_fit_options const& options = {}) {
    return detail::phase_fitter(runs, options).fit();
}

}  // namespace ration::estimators
