// SPDX-License-Identifier: BSL-1.0
/// A limit on the depth of a TOML text, checked before the TOML library reads it: that library recurses without one.
#pragma once

#include <optional>
#include <string_view>

#include "problem.hpp"

namespace ration::program {

/// Parts of one dotted key or header, and brackets open at once. A jobs file needs four.
inline constexpr std::size_t most_key_parts = 16, most_open_brackets = 16;

/// The first place at which the text is nested deeper than that. O(text), without recursion.
[[nodiscard]] std::optional<problem> problem_with_nesting(std::string_view text);

}  // namespace ration::program
