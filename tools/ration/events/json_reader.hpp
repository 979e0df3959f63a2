// SPDX-License-Identifier: BSL-1.0
/// JSON from outside. nlohmann-json parses without recursion, but copies, compares and prints with it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ration::program {

/// No document of ours is nested deeper than ten levels.
inline constexpr std::size_t most_json_depth = 64;

/// Whether a text opens more brackets at once. O(text), without recursion.
[[nodiscard]] bool is_nested_deeper(std::string_view json, std::size_t most) noexcept;

/// The value of a text; a discarded one when the text is not JSON, or nested deeper than `most_json_depth`. Does not
/// throw. `Json`: nlohmann::json or nlohmann::ordered_json, whose parsers are compiled once, in json_reader.cpp.
template <class Json = nlohmann::json>
[[nodiscard]] Json parse_json(std::string_view text);

}  // namespace ration::program
