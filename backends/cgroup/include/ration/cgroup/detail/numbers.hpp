// SPDX-License-Identifier: BSL-1.0
/// Numbers and paths as bounded texts, for files and errors: nothing here allocates.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <ration/text.hpp>

namespace ration::cgroup::detail {

template <class Number>
[[nodiscard]] inline text<24> number_text(Number number) noexcept {
    std::array<char, 24> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

/// `path/file`, or `path` for an empty file. Of one that is too long, the end: it names the group and the file.
template <std::size_t Capacity>
[[nodiscard]] inline text<Capacity> path_text(std::string_view path, std::string_view file) noexcept {
    std::size_t const tail = file.empty() ? 0 : 1 + file.size();
    text<Capacity> out;
    if (path.size() + tail > Capacity) {
        std::size_t const room = Capacity - 1 > tail ? Capacity - 1 - tail : 0;
        out.append("~").append(path.substr(path.size() - (room < path.size() ? room : path.size())));
    } else {
        out.append(path);
    }
    return file.empty() ? out : out.append("/").append(file);
}

}  // namespace ration::cgroup::detail
