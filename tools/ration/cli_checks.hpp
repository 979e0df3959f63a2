// SPDX-License-Identifier: BSL-1.0
/// Checks of single words of the command line. Their diagnostics do not name the option.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <ration/sim/diagnostic.hpp>

#include "run.hpp"

namespace ration::program {

/// A parser or a check as a check in the form that CLI11 requires: the fault of a word, or an empty text.
template <class Parse>
[[nodiscard]] auto checked_by(Parse parse) {
    return [parse](std::string const& word) {
        auto const read = parse(word);
        return read ? std::string() : read.failure().text;
    };
}

inline constexpr std::pair<std::string_view, backend_choice> backend_names[] = {
    {"auto", backend_choice::automatic}, {"cgroup", backend_choice::cgroup}, {"process", backend_choice::process}};
[[nodiscard]] result<backend_choice, diagnostic> parse_backend(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_cpus(std::string const& word);
[[nodiscard]] result<void, diagnostic> check_policy_name(std::string_view name);
[[nodiscard]] result<void, diagnostic> check_faults(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_setting(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_time(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_share(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_on_bad_grant(std::string_view word);
[[nodiscard]] result<void, diagnostic> check_language(std::string_view word);

}  // namespace ration::program
