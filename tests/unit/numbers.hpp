// SPDX-License-Identifier: BSL-1.0
// Numbers that no measurement gives, and that columns and parameters still can have.
#pragma once

#include <limits>

namespace unit {

inline constexpr double infinite = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace unit
