// SPDX-License-Identifier: BSL-1.0
/// Models of the phases of simulated jobs, learned as `ration measure phases` learns them from earlier runs.
#pragma once

#include <vector>

#include <ration/estimators/phase_model.hpp>
#include <ration/sim/workload.hpp>

namespace ration::program {

/// By class: the model that is learned from the first eight jobs of the class, as if each had run before without
/// limits. Empty if no job has phases. O(classes x the samples of eight jobs).
[[nodiscard]] std::vector<estimators::phase_model> learned_phases(sim::workload const& jobs);

}  // namespace ration::program
