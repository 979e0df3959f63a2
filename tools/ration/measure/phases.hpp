// SPDX-License-Identifier: BSL-1.0
/// `ration measure phases`: learns the phases of jobs from event logs.
#pragma once

#include "common/exit_code.hpp"
#include "measure/phases_options.hpp"

namespace ration::program {

[[nodiscard]] exit_code measure_phases(phases_options const& options);

}  // namespace ration::program
