// SPDX-License-Identifier: BSL-1.0
/// Text from outside in a form that terminals and pages can show.
#pragma once

#include <string>
#include <string_view>

namespace ration::program {

/// `text` with '?' for each character that `steers_text`, and for each byte that is not UTF-8. Every text from outside
/// passes through it on its way to a terminal or a page.
[[nodiscard]] std::string printable(std::string_view text);

/// Each line of `text` by itself, so that its ends of lines stay. A last line without one gets it.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// `printable` text in single quotes, cut after 60 bytes. An object, since argument-dependent lookup would find
/// std::quoted besides a function: newer standard libraries declare that one in <filesystem> already.
struct quote_text {
    [[nodiscard]] std::string operator()(std::string_view text) const;
};
inline constexpr quote_text quoted;

}  // namespace ration::program
