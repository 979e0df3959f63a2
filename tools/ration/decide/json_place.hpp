// SPDX-License-Identifier: BSL-1.0
/// Columns of values and of syntax errors in a line of JSON. The parser reports no positions of values, and a line
/// with a fault is rare: so only such a line is read a second time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ration::program {

/// The column of the value at a JSON pointer (RFC 6901), in characters from 1. A part of the pointer that is absent
/// yields the column of the value around it. Pre: `json` is valid JSON. O(json), without recursion.
[[nodiscard]] std::uint32_t column_of(std::string_view json, std::string_view pointer);

/// The first error of a text that is not JSON.
struct json_error {
    std::uint32_t column = 1;  ///< in characters from 1
    std::string near_text;     ///< the end of what was read, as `printable` text; may be empty
    bool is_number = false;    ///< a number beyond the range of a double
};

/// Pre: the parser refuses `text`. O(text).
[[nodiscard]] json_error find_json_error(std::string_view text);

}  // namespace ration::program
