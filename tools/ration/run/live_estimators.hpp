// SPDX-License-Identifier: BSL-1.0
/// The columns of a run that no one measures, and what computes them.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/estimators/nominal_speed.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/estimator_stage.hpp>

namespace ration::program {

/// The job table declares these columns, and leaves them to estimators.
inline constexpr std::array<std::string_view, 8> estimated_columns{"jobs/nominal_steps_per_second",
                                                                   "jobs/remaining",
                                                                   "jobs/speedup",
                                                                   "jobs/goodput",
                                                                   "jobs/goodput.fixed",
                                                                   "jobs/phase",
                                                                   "jobs/expected.cpu",
                                                                   "jobs/expected.memory"};

/// The estimators of one run.
class live_estimators {
    estimator_adapter<estimators::remaining> remaining_;
    estimator_adapter<estimators::nominal_speed> nominal_speed_;
    estimator_adapter<estimators::speed> speed_;
    estimator_adapter<estimators::phases> phases_;
    std::array<any_estimator*, 4> all_{&nominal_speed_, &remaining_, &speed_, &phases_};
    estimator_stage stage_{{.available = all_, .unfilled = estimated_columns}};

public:
    /// The models of the classes of jobs, by `jobs/class`.
    explicit live_estimators(std::vector<estimators::phase_model> models) noexcept
        : phases_(estimators::phases(std::move(models))) {}
    live_estimators(live_estimators const&) = delete;
    live_estimators& operator=(live_estimators const&) = delete;

    /// For an engine, which this object has to outlive.
    [[nodiscard]] estimation* stage() noexcept { return &stage_; }
};

}  // namespace ration::program
