// SPDX-License-Identifier: BSL-1.0
/// The page that `ration report` makes of what `ration sim --json` prints, without the way over a file.
#pragma once

#include <string>

#include "sim/table.hpp"

namespace ration::program {

/// A whole page. The measurements are between "<!-- measured -->" and "<!-- /measured -->"; all else is the same on
/// every run.
[[nodiscard]] std::string report_html(simulation_results const& all);

}  // namespace ration::program
