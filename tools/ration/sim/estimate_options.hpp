// SPDX-License-Identifier: BSL-1.0
/// `ration sim --estimate`: policies read what an estimator computes from the reports of jobs, beside the same runs
/// with the exact values.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/estimators/duration.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/sim/model_library.hpp>

#include "common/diagnostics.hpp"
#include "sim/input.hpp"
#include "sim/runs.hpp"

namespace ration::program {

/// The names of the estimators.
inline constexpr std::array<std::string_view, 3> estimator_names{"remaining", "speed", "duration"};

/// Refuses a name without an estimator. The diagnostic does not name the option.
[[nodiscard]] result<void, diagnostic> check_estimate(std::string_view name);

/// The columns that these estimators compute.
[[nodiscard]] std::vector<std::string_view> estimated_columns_of(std::span<std::string const> estimates);

/// Prepares the jobs for the estimators: `remaining` needs losses, which jobs on devices get along the fitted curves of
/// the library. Adds to `problems` what the estimators cannot do.
void prepare_estimates(std::span<std::string const> estimates, sim::model_library const& library,
                       simulation_input& input, diagnostics& problems);

/// Adds an entry with the exact values behind each policy that reads an estimate, to both lists and to `input`. Adds to
/// `problems` if there is none.
void compare_with_exact(simulation_options& options, simulation_input& input, std::vector<policy_text>& policies,
                        diagnostics& problems);

/// The estimators of one run. A simulated job does not report the number of its steps, so that `remaining` uses only
/// one that is estimated.
class sim_estimators {
    std::vector<std::string_view> unfilled_;
    estimator_adapter<estimators::remaining> remaining_;
    estimator_adapter<estimators::speed> speed_;
    estimator_adapter<estimators::duration> duration_;
    std::array<any_estimator*, 3> all_{&remaining_, &speed_, &duration_};
    estimator_stage stage_;

public:
    /// `estimates`: as `check_estimate` takes them.
    explicit sim_estimators(std::span<std::string const> estimates);
    sim_estimators(sim_estimators const&) = delete;
    sim_estimators& operator=(sim_estimators const&) = delete;

    /// For the settings of a run, which this object has to outlive.
    [[nodiscard]] estimator_stage* stage() noexcept { return &stage_; }
};

}  // namespace ration::program
