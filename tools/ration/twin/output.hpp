// SPDX-License-Identifier: BSL-1.0
/// The result of `ration twin` for people and for programs.
#pragma once

#include <string>

#include "twin/twin.hpp"

namespace ration::program {

/// Models, the comparison of measured and simulated figures, the mean error, remarks; lines ended by '\n'.
[[nodiscard]] std::string twin_text(twin_result const& all);

/// One line of JSON without newline; docs/twin.md has the schema.
[[nodiscard]] std::string twin_json(twin_result const& all);

}  // namespace ration::program
