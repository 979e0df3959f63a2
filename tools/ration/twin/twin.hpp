// SPDX-License-Identifier: BSL-1.0
/// A recorded run beside its simulation with models that were fitted to a log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/diagnostics.hpp"
#include "comparison/comparison.hpp"
#include "twin/fit.hpp"
#include "twin/options.hpp"

namespace ration::program {

/// A figure that was both measured and simulated.
struct twin_figure {
    std::string job;                     ///< empty: of the run
    std::optional<milestone> of;         ///< the time from the job's arrival to it; none: the makespan
    double measured = 0, simulated = 0;  ///< seconds

    /// In % of what was measured.
    [[nodiscard]] double error() const noexcept { return 100 * (simulated / measured - 1); }
};

struct twin_result {
    std::string fitted_log, fitted_policy;
    std::string measured_log, measured_policy;
    fitted_run models;
    fitted_machine machine;            ///< of the measured run
    comparison sides;                  ///< measured, then simulated under its policy, then under the others
    std::vector<twin_figure> figures;  ///< of the first two sides
    std::vector<std::string> remarks;
    bool policies_answered = true;

    /// The mean over the figures of the absolute error in %; NaN without figures.
    [[nodiscard]] double mean_error() const noexcept;
};

/// `fitted` has the models, `measured` the machine and the figures; they may be the same. The result is incomplete if
/// this adds to `problems`.
[[nodiscard]] twin_result make_twin(recording const& fitted, recording const& measured, twin_options const& options,
                                    diagnostics& problems);

}  // namespace ration::program
