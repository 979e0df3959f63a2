// SPDX-License-Identifier: BSL-1.0
/// Words of command lines and requests without the blanks around them.
#pragma once

#include <string_view>

namespace ration::program {

/// The text without blanks and tabs at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
    return text;
}

}  // namespace ration::program
