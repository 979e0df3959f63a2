// SPDX-License-Identifier: BSL-1.0
/// `ration check plugin.so`: whether a policy keeps the rules of the plugin ABI.
#pragma once

#include <cstdint>
#include <string>

#include "command_line/command.hpp"

namespace ration::program {

struct check_options {
    std::string file;        ///< a plugin
    std::string config;      ///< what its policy is created with
    std::uint64_t seed = 1;  ///< of the synthetic clusters
    bool json = false;
};

void add_options(CLI::App& to, check_options& into, option_context& context);
[[nodiscard]] exit_code check(check_options const& options);

}  // namespace ration::program
