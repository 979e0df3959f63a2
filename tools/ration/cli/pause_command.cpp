// SPDX-License-Identifier: BSL-1.0
#include "cli/pause_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_pause = R"(Examples:
  ration pause vae-17
  ration pause 17 18 19

A queued job stays QUEUED. A running job saves and stops as at 'ration cancel', and is QUEUED then. It waits, also after a restart of
the service, until 'ration resume'. Its next launch continues from its checkpoint.
Exit codes: 0; 2 unknown job, or it has ended; 3 the service cannot be reached.)";

}  // namespace

void add_options(CLI::App& to, pause_options& into, option_context&) {
    to.footer(notes_of_pause);
    add_jobs_options(to, into);
}

}  // namespace ration::program
