// SPDX-License-Identifier: BSL-1.0
#include "cli/version_command.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/version_text.hpp"

namespace ration::program {

void add_options(CLI::App&, version_options&, option_context&) {}

exit_code print_version(version_options const&) {
    std::puts(version_text().c_str());
    return exit_code::ok;
}

}  // namespace ration::program
