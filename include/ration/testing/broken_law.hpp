// SPDX-License-Identifier: BSL-1.0
/// The error with which a law check names the broken law and the place.
#pragma once

#include <cstdio>
#include <string_view>

#include <ration/result.hpp>

namespace ration::testing {

/// `law` is its name and its text: "Target law 3: NaN reaches no tier". `where` is the observation.
[[nodiscard]] inline error broken_law(char const* law, std::string_view where) noexcept {
    return {.code = errc::conflict,
            .operation = law,
            .subject = where,
            .remedy = "see the laws in the concept's documentation"};
}

/// printf into a bounded text.
template <class... Values>
[[nodiscard]] text<120> seen(char const* format, Values... values) noexcept {
    char characters[121];
    std::snprintf(characters, sizeof characters, format, values...);
    return characters;
}

}  // namespace ration::testing
