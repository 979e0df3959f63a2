// SPDX-License-Identifier: BSL-1.0
/// `ration measure scaling`: runs one job of a file with different numbers of devices, and measures its speed.
#pragma once

#include "common/exit_code.hpp"
#include "measure/options.hpp"

namespace ration::program {

[[nodiscard]] exit_code measure_scaling(scaling_options const& options);

}  // namespace ration::program
