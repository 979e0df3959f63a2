// SPDX-License-Identifier: BSL-1.0
/// The names of a host's resources as one text, for hosts of plugins: they outlive `bind` there, and cross to workers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ration::plugin {

/// One text with all names; each ends with a zero byte. Allocates.
[[nodiscard]] inline std::string join_names(std::span<std::string_view const> names) {
    std::string joined;
    for (auto const name : names) joined.append(name).push_back('\0');
    return joined;
}

/// The names in such a text, as views of it. Allocates.
[[nodiscard]] inline std::vector<std::string_view> split_names(std::string_view joined) {
    std::vector<std::string_view> names;
    while (!joined.empty()) {
        names.push_back(joined.substr(0, joined.find('\0')));
        joined.remove_prefix(names.back().size() + 1);
    }
    return names;
}

}  // namespace ration::plugin
