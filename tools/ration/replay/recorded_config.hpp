// SPDX-License-Identifier: BSL-1.0
/// The jobs file of a recorded run.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config.hpp"

namespace ration::program {

/// The jobs file in the `run` line of a log, with the parameters that the run gave to its policy. These may be those of
/// its command line. Throws what nlohmann-json throws for a field of another type.
[[nodiscard]] parsed_config recorded_config(nlohmann::json const& run, config_rules const& rules);

}  // namespace ration::program
