// SPDX-License-Identifier: BSL-1.0
/// Checks of words of the command line that several commands share. Their diagnostics do not name the option.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/sim/diagnostic.hpp>

#include "command_line/command.hpp"

namespace ration::program {

inline constexpr int most_rounds = 100;  ///< of a comparison or a measurement

/// A parser or a check as a check in the form that CLI11 requires: the fault of a word, or an empty text.
template <class Parse>
[[nodiscard]] auto checked_by(Parse parse) {
    return [parse](std::string const& word) {
        auto const read = parse(word);
        return read ? std::string() : read.failure().text;
    };
}

/// Takes a whole number of `things` from 1 to `most`, which has up to four digits. `things`: static text.
[[nodiscard]] std::function<std::string(std::string const&)> number_check(int most, char const* things);
/// Takes a name among `context.policies` or the path of a .so. `context` outlives it.
[[nodiscard]] std::function<std::string(std::string const&)> policy_check(option_context const& context);
/// The same of the words of a list of policies with parameters, as `read_choices` takes them.
[[nodiscard]] std::function<std::string(std::string const&)> choice_check(option_context const& context);
/// Declares --set, whose words `add_setting` takes.
void add_setting_option(CLI::App& to, std::vector<std::string>& into, char const* help);
/// Declares --metrics, whose word `parse_endpoint` takes.
CLI::Option* add_metrics_option(CLI::App& to, std::string& into, option_context& context);
[[nodiscard]] result<std::uint64_t, diagnostic> parse_seed(std::string_view word);

}  // namespace ration::program
