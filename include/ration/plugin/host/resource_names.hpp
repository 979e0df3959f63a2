// SPDX-License-Identifier: BSL-1.0
/// The names of a host's resources as one text, for hosts of plugins: they outlive `bind` there, and cross to workers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <ration/policy.hpp>

namespace ration::plugin {

/// One text with all names, each of which ends with a zero byte; empty if the limits have none. Allocates.
[[nodiscard]] inline std::string names_of_resources(limits const& most) {
    std::string joined;
    for (std::size_t r = 0; most.resource_table != nullptr && r < most.resources; ++r)
        joined.append(most.resource_table[r].name).push_back('\0');
    return joined;
}

/// Resources with the names in such a text, which has to outlive them. Allocates.
[[nodiscard]] inline std::vector<resource_info> resources_named(std::string_view joined) {
    std::vector<resource_info> all;
    while (!joined.empty()) {
        all.push_back({.name = joined.substr(0, joined.find('\0')), .unit = {}});
        joined.remove_prefix(all.back().name.size() + 1);
    }
    return all;
}

}  // namespace ration::plugin
