// SPDX-License-Identifier: BSL-1.0
/// `ration measure serve`: the rate of requests that servers of a jobs file sustain, alone and together.
#pragma once

#include "common/exit_code.hpp"
#include "measure/serve_options.hpp"

namespace ration::program {

[[nodiscard]] exit_code measure_serve(serve_measure_options const& options);

}  // namespace ration::program
