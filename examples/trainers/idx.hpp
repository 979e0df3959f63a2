// SPDX-License-Identifier: BSL-1.0
/// Reads compressed idx files: two zero bytes, the type of the elements, the number of axes, the size of each axis (32
/// bits, high byte first), the elements. The content of a file is not trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace trainers {

/// A value, or a sentence with the reason why it is missing.
template <class T>
using attempt = std::variant<T, std::string>;

struct idx {
    std::vector<std::uint32_t> sizes;    ///< one per axis
    std::vector<std::uint8_t> elements;  ///< as many as the product of the sizes
};

/// At most this many bytes are ever taken from one file.
inline constexpr std::uint64_t idx_limit = 1U << 26;

/// A file of unsigned bytes with `axes` axes, compressed by gzip or plain. The file must have the size of its header.
[[nodiscard]] attempt<idx> read_idx(std::filesystem::path const& path, unsigned axes);

}  // namespace trainers
