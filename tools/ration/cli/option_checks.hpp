// SPDX-License-Identifier: BSL-1.0
/// Checks of words of the command line that several commands share. Their diagnostics do not name the option.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ration/sim/diagnostic.hpp>

#include "cli/command.hpp"

namespace ration::program {

/// A parser or a check as a check in the form that CLI11 requires: the fault of a word, or an empty text.
template <class Parse>
[[nodiscard]] auto checked_by(Parse parse) {
    return [parse](std::string const& word) {
        auto const read = parse(word);
        return read ? std::string() : read.failure().text;
    };
}

/// Takes a name among `context.policies` or the path of a .so. `context` outlives it.
[[nodiscard]] std::function<std::string(std::string const&)> policy_check(option_context const& context);
[[nodiscard]] result<void, diagnostic> check_setting(std::string_view word);
[[nodiscard]] result<std::uint64_t, diagnostic> parse_seed(std::string_view word);

}  // namespace ration::program
