// SPDX-License-Identifier: BSL-1.0
/// Names of runs and nodes, which appear in commands and paths.
#pragma once

#include <algorithm>
#include <string_view>

namespace ration::program {

/// Whether a run or a node may have this name: a shell takes it as one word, and a path as one component.
[[nodiscard]] inline bool is_node_name(std::string_view name) noexcept {
    auto const plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
               c == '_' || c == '@';
    };
    return !name.empty() && name.size() <= 200 && name.front() != '-' && std::ranges::all_of(name, plain);
}

}  // namespace ration::program
