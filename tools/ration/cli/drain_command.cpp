// SPDX-License-Identifier: BSL-1.0
#include "cli/drain_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_drain = R"(Examples:
  ration drain --wait     then restart the machine
  ration drain --undo

Running jobs run on, and jobs can be submitted. The service drains until --undo, also after a restart.
Exit codes: 0; 2 wrong command line; 3 the service cannot be reached, or is that of another user.)";

}  // namespace

void add_options(CLI::App& to, drain_options& into, option_context&) {
    to.footer(notes_of_drain);
    add_state_option(to, into.folder);
    auto* const wait = to.add_flag("--wait", into.wait, "Wait until no job runs");
    to.add_flag("--undo", into.undo, "Launch jobs again")->excludes(wait);
    to.add_flag("--json", into.json, "The service as one JSON line");
}

}  // namespace ration::program
