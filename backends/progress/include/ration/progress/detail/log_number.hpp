// SPDX-License-Identifier: BSL-1.0
/// Numbers in lines of text: their values in any spelling, and whether a part of a line has a whole number.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace ration::progress::detail {

/// The value of a text; not finite for NaN and infinities in every spelling, and for numbers too large for a double.
/// Nothing if the text as a whole is not a number. O(text).
[[nodiscard]] inline std::optional<double> read_value(std::string_view text) noexcept {
    if (text.starts_with('+')) text.remove_prefix(1);
    double out = 0;
    // from_chars accepts the words nan and inf in any case
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (end != text.data() + text.size() || code == std::errc::invalid_argument) return std::nullopt;
    if (code != std::errc::result_out_of_range) return out;
    bool const is_tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    return is_tiny ? 0 : text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
}

/// True for '0' to '9'.
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// True if a number that ends before this text continues in it: digits, a fraction, an exponent, a separator of
/// thousands or decimals, '%', or the '#' of "1.#QNAN". `expected`: characters that are not part of the number there.
[[nodiscard]] constexpr bool continues_number(std::string_view after, std::string_view expected) noexcept {
    if (after.empty() || expected.find(after.front()) != std::string_view::npos) return false;
    char const first = after.front();
    auto const digit_at = [&](std::size_t at) { return at < after.size() && is_digit(after[at]); };
    if (first == '.' || first == ',') return digit_at(1);
    if (first != 'e' && first != 'E') return is_digit(first) || first == '%' || first == '#';
    bool const has_sign = after.size() > 1 && (after[1] == '-' || after[1] == '+');
    return digit_at(has_sign ? 2 : 1);
}

/// True if `part` of `line` begins or ends inside a number, such as 8 of "8,748". `expected` as in `continues_number`.
/// Pre: `part` is a part of `line`. O(1).
[[nodiscard]] constexpr bool is_half_a_number(std::string_view line, std::string_view part,
                                              std::string_view expected) noexcept {
    if (part.empty()) return false;
    auto const begin = static_cast<std::size_t>(part.data() - line.data());
    bool const is_cut_before = begin > 0 && is_digit(part.front()) && is_digit(line[begin - 1]);
    bool const is_fraction = begin > 1 && is_digit(part.front()) && line[begin - 1] == '.' && is_digit(line[begin - 2]);
    return is_cut_before || is_fraction ||
           ((is_digit(part.back()) || part.back() == '.') &&
            continues_number(line.substr(begin + part.size()), expected));
}

/// `part` of `line`, up to the next blank or bracket. Pre: `part` is a part of `line`.
[[nodiscard]] constexpr std::string_view whole_word(std::string_view line, std::string_view part) noexcept {
    auto const begin = static_cast<std::size_t>(part.data() - line.data());
    auto const end = line.find_first_of(" \t()[]{}|;'\"", begin + part.size());
    return line.substr(begin, end == line.npos ? line.npos : end - begin);
}

}  // namespace ration::progress::detail
