// SPDX-License-Identifier: BSL-1.0
/// Bytes as a value of JSON: text where they are UTF-8, else {"hex": "2f74ff"}. Arguments, variables and paths of Linux
/// may be any bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "events/json_reader.hpp"
#include "events/json_writer.hpp"

namespace ration::program {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Two digits for each byte.
[[nodiscard]] std::string hex_of(std::string_view bytes);

/// Writes the value.
void write_bytes(json_writer& json, std::string_view bytes);

/// The bytes of a value; none: it is not such a value.
[[nodiscard]] std::optional<std::string> bytes_in(nlohmann::json const& value);

}  // namespace ration::program
