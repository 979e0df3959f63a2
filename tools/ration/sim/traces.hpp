// SPDX-License-Identifier: BSL-1.0
/// Reads the traces of `ration sim`: as a whole, or job by job during each run.
#pragma once

#include <memory>
#include <string>

#include <ration/sim/model_library.hpp>

#include "common/diagnostics.hpp"
#include "sim/input.hpp"
#include "sim/options.hpp"

namespace ration::program {

/// Adds a sample for each trace, or for each seed of a trace with random elements. Problems are added to `problems`.
void read_traces(simulation_options const& options, std::shared_ptr<sim::model_library const> const& library,
                 simulation_input& input, diagnostics& problems);

/// The sentence on the figures that a stream of jobs lacks.
[[nodiscard]] std::string remark_on_streams();

}  // namespace ration::program
