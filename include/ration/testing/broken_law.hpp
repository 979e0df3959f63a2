// SPDX-License-Identifier: BSL-1.0
/// How a law check says which law was broken and where.
#pragma once

#include <cstdio>
#include <string_view>

#include <ration/result.hpp>

namespace ration::testing {

/// `law` names the law and says it: "Target law 3: NaN reaches no tier". `where` says what was seen.
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
