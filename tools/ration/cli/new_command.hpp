// SPDX-License-Identifier: BSL-1.0
/// `ration new NAME`: a folder with a policy that builds, passes `ration check`, and has tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line/command.hpp"

namespace ration::program {

struct new_options {
    std::string name;              ///< of the policy and its folder
    std::string language = "c++";  ///< one of `template_languages`
};

void add_options(CLI::App& to, new_options& into, option_context& context);
[[nodiscard]] exit_code make_project(new_options const& options);

/// The languages in which `ration new` can write a policy.
[[nodiscard]] std::vector<std::string_view> template_languages();

}  // namespace ration::program
