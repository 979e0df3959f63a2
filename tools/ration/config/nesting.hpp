// SPDX-License-Identifier: BSL-1.0
/// A limit on the depth of a TOML text, checked before the TOML library reads it: that library recurses without one.
#pragma once

#include <string_view>

#include "common/diagnostics.hpp"

namespace ration::program {

/// Parts of one dotted key or header, and brackets open at once. A jobs file needs four.
inline constexpr std::size_t most_key_parts = 16, most_open_brackets = 16;

/// Refuses a text that is nested deeper than that, at the first such place. O(text), without recursion.
[[nodiscard]] result<void, diagnostic> check_nesting(std::string_view text);

}  // namespace ration::program
