// SPDX-License-Identifier: BSL-1.0
#pragma once
// The sentences of a bad jobs file.
#include <string>
#include <utility>
#include <vector>

#include "config/config.hpp"

namespace config_test {

using sentences = std::vector<std::string>;

/// `for_service`: the file is that of a service.
[[nodiscard]] inline sentences reply(std::string text, bool for_service = false) {
    sentences out;
    ration::program::config_rules const rules{.policies = {"none", "equal_share", "tradl"}, .for_service = for_service};
    for (auto const& p : ration::program::parse_config(std::move(text), "jobs.toml", rules).problems)
        out.push_back(to_text(p));
    return out;
}

/// One good job with more lines at its end, from line 6 on.
[[nodiscard]] inline sentences message_of_job(std::string const& lines) {
    return reply("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n" +
                 lines + "\n");
}

/// The same job with another target, in line 5.
[[nodiscard]] inline sentences message_of_target(std::string const& target) {
    return reply("policy = 'none'\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = " + target + "\n");
}

/// A good job with more lines at the top of the file, from line 1 on.
[[nodiscard]] inline sentences message_of_file(std::string const& lines) {
    return reply(lines + "\n[[job]]\nname = 'a'\ncommand = ['x']\ntarget = { loss = { acceptable = 1 } }\n");
}

inline constexpr auto example = "target = { loss = { acceptable = 0.5, objective = 0.4 } }";

}  // namespace config_test
