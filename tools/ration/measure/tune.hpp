// SPDX-License-Identifier: BSL-1.0
/// `ration measure tune`: searches the launch parameters with which a job of a file is fastest.
#pragma once

#include "common/exit_code.hpp"
#include "measure/tune_options.hpp"

namespace ration::program {

[[nodiscard]] exit_code measure_tune(tune_options const& options);

}  // namespace ration::program
