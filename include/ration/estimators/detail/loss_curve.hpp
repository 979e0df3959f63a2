// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A loss curve fitted to points of a job, and the step at which it reaches a value.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>

namespace ration::estimators::detail {

/// The mean of some reports that follow one another. Values improve downwards.
struct loss_point {
    double step = 0, value = 0;
    double reports = 0;

    /// For saved state.
    static auto fields(auto& self) noexcept { return std::tie(self.step, self.value, self.reports); }
    [[nodiscard]] bool sane() const noexcept { return step >= 0 && reports >= 0 && reports < 1e15; }
};

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// loss(s) = floor + power (1 + s / scale)^-exponent. With the exponent 1 it is Optimus's 1 / (a s + b) + c.
struct loss_curve {
    double floor = 0, power = 0, scale = 0, exponent = 0;

    [[nodiscard]] bool falls() const noexcept { return exponent > 0; }
    [[nodiscard]] double at(double step) const noexcept {
        return floor + power * std::pow(1 + step / scale, -exponent);
    }
    /// The step at which the curve falls to `value`; infinite at and below the floor.
    [[nodiscard]] double step_at(double value) const noexcept {
        if (!(value > floor)) return std::numeric_limits<double>::infinity();
        double const steps = scale * (std::pow(power / (value - floor), 1 / exponent) - 1);
        return steps > 0 ? steps : 0;
    }
};

/// The weighted least squares of z = first + slope x.
struct line_fit {
    double w = 0, x = 0, z = 0, xx = 0, xz = 0, zz = 0;

    void add(double at, double value, double weight) noexcept {
        w += weight;
        x += weight * at;
        z += weight * value;
        xx += weight * at * at;
        xz += weight * at * value;
        zz += weight * value * value;
    }
    [[nodiscard]] double slope() const noexcept { return (w * xz - x * z) / (w * xx - x * x); }
    [[nodiscard]] double first() const noexcept { return (z - slope() * x) / w; }
    /// The weighted sum of squared residuals.
    [[nodiscard]] double error() const noexcept { return zz - first() * z - slope() * xz; }
};

/// Fits one of two models: Optimus's, whose exponent is 1, or a power law. A point in the second third of the points
/// counts 4 times as much as one in the first, one in the last third 16 times (Optimus, params.py).
class curve_fitter {
public:
    enum class model { inverse, power_law };
    static constexpr std::size_t most_points = 32;

private:
    // Floors below the least value, as parts of the range of values, and scales as parts of the newest step.
    static constexpr std::array<double, 9> depths{0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};
    static constexpr int searches = 6;
    static constexpr std::array<double, 6> scales{0.01, 0.03, 0.1, 0.3, 1, 3};

    std::span<loss_point const> points_;
    std::array<double, most_points> weights_{};
    std::array<std::array<double, most_points>, scales.size()> logs_{};  // of 1 + step / scale
    double least_ = std::numeric_limits<double>::infinity(), range_ = 0;
    bool positive_ = true;

    struct candidate {
        loss_curve curve;
        double error = std::numeric_limits<double>::infinity();
    };

public:
    /// Pre: 3 to `most_points` points in the order of their steps; they outlive the fitter.
    explicit curve_fitter(std::span<loss_point const> points) noexcept : points_(points) {
        double greatest = -least_;
        for (std::size_t i = 0; i < points.size(); ++i) {
            double const value = points[i].value;
            least_ = value < least_ ? value : least_;
            greatest = value > greatest ? value : greatest;
            positive_ = positive_ && value > 0;
            std::size_t const third = 3 * i / points.size();
            weights_[i] = points[i].reports * (third == 0 ? 1 : third == 1 ? 4 : 16);
            for (std::size_t k = 0; k < scales.size(); ++k)
                logs_[k][i] = std::log(1 + points[i].step / (scales[k] * points.back().step));
        }
        range_ = greatest - least_;
    }

    /// The best curve of a model; it does not fall if none does. The floor is searched in a list, and then between the
    /// neighbours of its best entry.
    [[nodiscard]] loss_curve fit(model m) const noexcept {
        std::size_t nearest = 0;
        candidate best;
        auto const take = [&best](candidate const& c) noexcept {
            bool const is_better = c.error < best.error;
            if (is_better) best = c;
            return is_better;
        };
        for (std::size_t k = 0; k < depths.size(); ++k)
            if (take(with_depth(m, depths[k]))) nearest = k;
        // Golden section over the logarithm of the depth.
        constexpr double golden = 0.618034;
        double low = std::log(depths[nearest] / 3), high = std::log(depths[nearest] * 3);
        for (int i = 0; i < searches; ++i) {
            double const left = high - golden * (high - low), right = low + golden * (high - low);
            candidate const a = with_depth(m, std::exp(left)), b = with_depth(m, std::exp(right));
            take(a.error < b.error ? a : b);
            (a.error < b.error ? high : low) = a.error < b.error ? right : left;
        }
        return best.curve;
    }

private:
    /// A loss that is always above 0 has a floor of at least 0.
    [[nodiscard]] candidate with_depth(model m, double depth) const noexcept {
        double const floor = least_ - depth * range_;
        double const kept = positive_ && floor < 0 ? 0 : floor;
        return m == model::inverse ? inverse(kept) : power_law(kept);
    }

    /// 1 / (value - floor) is a line. Its variance is that of the value times (value - floor)^-4.
    [[nodiscard]] candidate inverse(double floor) const noexcept {
        line_fit line;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            double const above = points_[i].value - floor, square = above * above;
            line.add(points_[i].step, 1 / above, weights_[i] * square * square);
        }
        double const a = line.slope(), b = line.first();
        if (!(a > 0 && b > 0)) return {};
        return {{.floor = floor, .power = 1 / b, .scale = b / a, .exponent = 1}, line.error()};
    }

    /// log(value - floor) is a line over log(1 + step / scale), with the variance of the value times
    /// (value - floor)^-2.
    [[nodiscard]] candidate power_law(double floor) const noexcept {
        std::array<double, most_points> logs, weights;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            double const above = points_[i].value - floor;
            logs[i] = std::log(above);
            weights[i] = weights_[i] * above * above;
        }
        candidate best;
        for (std::size_t k = 0; k < scales.size(); ++k) {
            line_fit line;
            for (std::size_t i = 0; i < points_.size(); ++i) line.add(logs_[k][i], logs[i], weights[i]);
            double const exponent = -line.slope();
            if (!(exponent > 0.05) || !(line.error() < best.error)) continue;
            best = {{.floor = floor,
                     .power = std::exp(line.first()),
                     .scale = scales[k] * points_.back().step,
                     .exponent = exponent},
                    line.error()};
        }
        return best;
    }
};

/// The mean squared error of a curve on points.
[[nodiscard]] inline double error_of(loss_curve const& curve, std::span<loss_point const> points) noexcept {
    double sum = 0;
    for (auto const& p : points) {
        double const off = p.value - curve.at(p.step);
        sum += off * off;
    }
    return sum / static_cast<double>(points.size());
}

/// The mean value of the newest eighth of the points, of 2 at least.
[[nodiscard]] inline double newest_value(std::span<loss_point const> points) noexcept {
    double sum = 0, reports = 0;
    for (auto const& p : points.last(points.size() < 16 ? 2 : points.size() / 8)) {
        sum += p.reports * p.value;
        reports += p.reports;
    }
    return sum / reports;
}

/// `done`: the steps of the job. The step at which a value is reached that the user of the job expects to be reached:
/// the loss falls from its first point as 1 / (a s + b) + c, whose floor is a twentieth of the whole fall below the
/// value. At least 1 % of the steps are left, and at most 200 times the steps done.
[[nodiscard]] inline double expected_step(std::span<loss_point const> points, double done, double value) noexcept {
    constexpr double below = 0.05, least_fall = 0.1, least_left = 0.01;
    double const whole = points.front().value - value;
    double const above_floor = newest_value(points) - value + below * whole;
    if (!(whole > 0 && above_floor > 0)) return (1 + least_left) * done;
    double const fall = (1 + below) * whole / above_floor - 1;  // steps done / scale of the curve
    double const step = done / below / (fall > least_fall ? fall : least_fall);
    return step > (1 + least_left) * done ? step : (1 + least_left) * done;
}

/// The step at which a job reaches a value, with an interval.
struct forecast {
    double step = unknown, least = unknown, most = unknown;

    /// For saved state.
    static auto fields(auto& self) noexcept { return std::tie(self.step, self.least, self.most); }
    [[nodiscard]] static bool sane() noexcept { return true; }

    /// Widens the interval.
    void include(double from, double to) noexcept {
        least = from < least ? from : least;
        most = to > most ? to : most;
    }
};

/// `done`: the steps of the job. Fits both models to all points but the newest fifth, and the better one on that fifth
/// to all points. The first quarter of the points is left out: most losses begin with a fast part that hardly predicts
/// the rest. The steps left are those of that curve, within a quarter and 4 times those by `expected_step`, which
/// counts alone if the curve does not reach the value.
///
/// The interval reaches over the expected step and the curves of that model, with and without the newest fifth, and of
/// the other one, each within two standard errors of the value by the residuals of that fifth. `most` is infinite if a
/// curve does not reach the value. Pre: at least 10 and at most `curve_fitter::most_points` points.
[[nodiscard]] inline forecast forecast_of(std::span<loss_point const> all, double done, double value) noexcept {
    using model = curve_fitter::model;
    auto const points = all.subspan(all.size() / 4);
    std::size_t const older = points.size() - points.size() / 5;
    auto const newest = points.subspan(older);
    curve_fitter const early(points.first(older));
    loss_curve const inverse = early.fit(model::inverse), power_law = early.fit(model::power_law);
    bool const is_power_law =
        power_law.falls() && !(inverse.falls() && error_of(inverse, newest) <= error_of(power_law, newest));
    loss_curve const curve = curve_fitter(points).fit(is_power_law ? model::power_law : model::inverse);
    double const expected = expected_step(all, done, value);
    forecast found{.step = expected, .least = expected, .most = expected};
    if (!curve.falls()) return found;
    double const off = 2 * std::sqrt(error_of(curve, newest) / static_cast<double>(newest.size()));
    for (loss_curve const& c : {curve, inverse, power_law})
        if (c.falls()) found.include(c.step_at(value + off), c.step_at(value - off));
    constexpr double furthest = 4;
    double const left = curve.step_at(value) - done, usual = expected - done;
    if (left < std::numeric_limits<double>::infinity())
        found.step = done + (left < usual / furthest   ? usual / furthest
                             : left > usual * furthest ? usual * furthest
                                                       : left);
    return found;
}

}  // namespace ration::estimators::detail
