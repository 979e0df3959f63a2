// SPDX-License-Identifier: BSL-1.0
#include "cli/clean_command.hpp"

#include <CLI/CLI.hpp>

namespace ration::program {

void add_options(CLI::App& to, clean_options& into, option_context&) {
    to.add_flag("--dry-run", into.dry_run, "Only list it");
}

}  // namespace ration::program
