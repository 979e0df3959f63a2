// SPDX-License-Identifier: BSL-1.0
/// The step at which recorded losses will reach a value.
#pragma once

#include <span>

#include <ration/estimators/detail/loss_history.hpp>

namespace ration::estimators {

/// The loss of a job after a number of steps.
struct loss_report {
    /// Ascending from report to report.
    double step = 0;
    double loss = 0;
};

/// The step at which the loss reaches `value`, by the curves of `remaining`; NaN for fewer than 20 reports.
/// Precondition: no report has reached `value`. O(reports).
[[nodiscard]] inline double forecast_step(std::span<loss_report const> reports, double value) noexcept {
    detail::loss_history history;
    for (auto const& report : reports) history.report(report.step, report.loss, value);
    return history.reach(value).step;
}

}  // namespace ration::estimators
