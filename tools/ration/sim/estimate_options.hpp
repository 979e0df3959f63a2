// SPDX-License-Identifier: BSL-1.0
/// `ration sim --estimate`: policies read what an estimator computes from the reports of jobs, beside the same runs
/// with the exact values.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/estimators/duration.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/sim/model_library.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "sim/input.hpp"
#include "sim/runs.hpp"

namespace ration::program {

/// The names of the estimators; others come from files.
inline constexpr std::array<std::string_view, 4> estimator_names{"remaining", "speed", "duration", "phases"};

/// Refuses a name without an estimator. The diagnostic does not name the option.
[[nodiscard]] result<void, diagnostic> check_estimate(std::string_view name);

/// The columns that these estimators compute.
[[nodiscard]] std::vector<std::string> estimated_columns_of(std::span<std::string const> estimates);

/// Prepares the jobs for the estimators: `remaining` needs losses, which jobs on devices get along the fitted curves of
/// the library, and `phases` needs learned models. Adds the requests that estimators cannot meet to `problems`.
void prepare_estimates(std::span<std::string const> estimates, sim::model_library const& library,
                       simulation_input& input, diagnostics& problems);

/// Adds an entry with the exact values behind each policy that reads an estimate, to both lists and to `input`. Adds to
/// `problems` if there is none.
void compare_with_exact(simulation_options& options, simulation_input& input, std::vector<policy_text>& policies,
                        diagnostics& problems);

/// A plugin that has not answered by then is not slow but stuck. Long, since the result is not to depend on how busy
/// the machine is.
inline constexpr nanoseconds longest_decision = seconds(20);

/// The estimators of one run. A simulated job does not report the number of its steps, so that `remaining` uses only
/// one that is estimated.
class sim_estimators {
    std::vector<std::string> names_;
    std::vector<std::string_view> unfilled_;
    estimator_adapter<estimators::remaining> remaining_;
    estimator_adapter<estimators::speed> speed_;
    estimator_adapter<estimators::duration> duration_;
    estimator_adapter<estimators::phases> phases_;
    std::vector<std::unique_ptr<any_estimator>> from_files_;
    std::vector<any_estimator*> all_;
    estimator_stage stage_;

    [[nodiscard]] std::vector<any_estimator*> all();

public:
    /// `estimates`: as `check_estimate` takes them. `settings` has the parameters of those from files. Adds to
    /// `problems` what is wrong with these. `phases`: the models of the classes.
    sim_estimators(std::span<std::string const> estimates, run_config const& settings,
                   std::vector<estimators::phase_model> phases, diagnostics& problems);
    sim_estimators(sim_estimators const&) = delete;
    sim_estimators& operator=(sim_estimators const&) = delete;

    /// For the settings of a run, which this object has to outlive.
    [[nodiscard]] estimator_stage* stage() noexcept { return &stage_; }
    /// The fault of an estimator from a file, as a sentence; empty if there was none.
    [[nodiscard]] std::string trouble() const;
};

}  // namespace ration::program
