// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The reported losses of one job, in a fixed number of points, and the forecast from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include <ration/estimators/detail/loss_curve.hpp>
#include <ration/target.hpp>

namespace ration::estimators::detail {

/// Keeps all reports in at most `curve_fitter::most_points` points: if there are more, each point becomes the mean of
/// twice as many reports. O(1) for a report, and a fit of about 20 us after every 20 reports, or a quarter more.
class loss_history {
    static constexpr std::uint64_t reports_between_fits = 20;

    std::array<loss_point, curve_fitter::most_points> points_{};
    std::uint32_t used_ = 0;
    std::uint32_t reports_per_point_ = 1;
    std::uint64_t reports_ = 0;
    std::uint64_t fitted_reports_ = 0;  // at the last fit; 0: none yet
    double last_step_ = 0;
    double sign_ = 1;    // of the metric in the points: -1 if it improves upwards
    double target_ = 0;  // of the last fit
    forecast forecast_;

public:
    /// Fewer reports than this show no curve.
    static constexpr std::uint64_t fewest_reports = 20;

    /// Takes the loss at a step, if the job has made steps since the last one. `target`: the loss that it is to reach.
    void report(double step, double loss, double target) noexcept {
        if (step < last_step_) forget_after(step);
        if (step <= last_step_ || !is_finite(loss)) return;
        last_step_ = step;
        // The target is not reached yet: the loss is on the side that it comes from.
        if (reports_ == 0) sign_ = loss < target ? -1 : 1;
        ++reports_;
        loss_point& point = point_to_fill();
        point.reports += 1;
        point.step += (step - point.step) / point.reports;
        point.value += (sign_ * loss - point.value) / point.reports;
    }

    /// Where the loss reaches the target; NaN before the first fit. Fits if there are enough new reports.
    [[nodiscard]] forecast const& reach(double target) noexcept {
        std::uint64_t const more = fitted_reports_ / 4;
        std::uint64_t const wanted = fitted_reports_ + (more > reports_between_fits ? more : reports_between_fits);
        bool const has_other_target = fitted_reports_ > 0 && target != target_;
        if (reports_ < fewest_reports || (reports_ < wanted && !has_other_target)) return forecast_;
        forecast_ = forecast_of(std::span(points_).first(used_), last_step_, sign_ * target);
        fitted_reports_ = reports_;
        target_ = target;
        return forecast_;
    }

    /// For saved state.
    static auto fields(auto& self) noexcept {
        return std::tie(self.points_, self.used_, self.reports_per_point_, self.reports_, self.fitted_reports_,
                        self.last_step_, self.sign_, self.target_, self.forecast_);
    }
    [[nodiscard]] bool sane() const noexcept {
        bool const has_room = used_ <= points_.size() && reports_per_point_ > 0 && used_ <= reports_;
        bool const can_fit = reports_ < fewest_reports || used_ >= points_.size() / 2;
        return has_room && can_fit && fitted_reports_ <= reports_ && last_step_ >= 0 && (sign_ == 1 || sign_ == -1);
    }

private:
    /// The last point, or a new one if that is full.
    [[nodiscard]] loss_point& point_to_fill() noexcept {
        bool const is_full = used_ == 0 || points_[used_ - 1].reports >= reports_per_point_;
        if (!is_full) return points_[used_ - 1];
        if (used_ == points_.size()) halve();
        points_[used_] = {};
        return points_[used_++];
    }

    /// Each point becomes the mean of two.
    void halve() noexcept {
        used_ /= 2;
        reports_per_point_ *= 2;
        for (std::size_t i = 0; i < used_; ++i) {
            loss_point const &a = points_[2 * i], &b = points_[2 * i + 1];
            double const both = a.reports + b.reports;
            points_[i] = {.step = (a.step * a.reports + b.step * b.reports) / both,
                          .value = (a.value * a.reports + b.value * b.reports) / both,
                          .reports = both};
        }
    }

    /// The job continues from a checkpoint: what it reported after that step will come again. If fewer than half of
    /// the points remain, the history starts again.
    void forget_after(double step) noexcept {
        while (used_ > 0 && points_[used_ - 1].step > step) {
            auto const gone = static_cast<std::uint64_t>(points_[--used_].reports);
            reports_ = reports_ > gone ? reports_ - gone : 0;
        }
        last_step_ = step;
        if (used_ < points_.size() / 2) *this = {};
        if (fitted_reports_ > reports_) fitted_reports_ = reports_;
    }
};

}  // namespace ration::estimators::detail
