// SPDX-License-Identifier: BSL-1.0
/// Divides places among users, such as connections, so that no user keeps the others out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace ration::program {

/// The user who holds a place. None: a user who never gives way, as root.
using place_holder = std::optional<std::int64_t>;

/// The user who gives up a place for the next holder when all are taken: the one with the most places. None: the
/// next holder would have as many. O(places * log(users)).
[[nodiscard]] inline place_holder user_to_yield(std::span<place_holder const> places, place_holder next) {
    std::map<std::int64_t, std::size_t> held;
    for (auto const& one : places)
        if (one) ++held[*one];
    auto const most = std::ranges::max_element(held, {}, [](auto const& one) { return one.second; });
    if (most == held.end()) return std::nullopt;
    auto const own = next && held.contains(*next) ? held[*next] : 0;
    bool const yields = !next || most->second > own + 1;
    return yields ? place_holder(most->first) : std::nullopt;
}

}  // namespace ration::program
