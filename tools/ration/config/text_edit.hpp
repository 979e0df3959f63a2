// SPDX-License-Identifier: BSL-1.0
/// Finds jobs and positions in the text of a jobs file, for edits that leave all other bytes as they are.
#pragma once

#include <cstddef>
#include <string_view>

#include "config/document.hpp"

namespace ration::program {

/// The entry of this key, or nullptr.
[[nodiscard]] entry* find_key(table& in, std::string_view name);
/// The table of a job by its index in the file, or nullptr.
[[nodiscard]] table* find_job(table& root, std::size_t number);
/// The offset of the first byte of a line, counted from 1.
[[nodiscard]] std::size_t offset_of_line(std::string_view text, std::uint32_t line);
/// The offset of a position of the TOML library, whose columns count characters.
[[nodiscard]] std::size_t offset_of(std::string_view text, position at);

}  // namespace ration::program
