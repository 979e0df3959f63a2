// SPDX-License-Identifier: BSL-1.0
/// Characters of UTF-8 text from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ration::program {

/// The length of the UTF-8 character at the front of `s`, 0 if there is none. Refuses overlong forms and surrogates.
[[nodiscard]] std::size_t utf8_length(std::string_view s) noexcept;

/// The code point of one UTF-8 character.
[[nodiscard]] std::uint32_t code_point(std::string_view character) noexcept;

/// Whether a UTF-8 character steers a terminal or the text around it, or hides in it: control characters (Unicode's
/// category Cc), line and paragraph separators, and the invisible ones of category Cf, among them those that turn the
/// direction of writing.
[[nodiscard]] bool steers_text(std::string_view character) noexcept;

}  // namespace ration::program
