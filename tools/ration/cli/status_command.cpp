// SPDX-License-Identifier: BSL-1.0
#include "cli/status_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_status = R"(Examples:
  ration status
  ration status vae-17
  ration status --json | jq -r '.jobs[] | select(.stage == "FAILED") | .label'

Reads the list of jobs, also while the service is down. A job is named by its number or its label.
Exit codes: 0; 2 unknown job; 3 the list cannot be read.)";

}  // namespace

void add_options(CLI::App& to, status_options& into, option_context&) {
    to.footer(notes_of_status);
    add_state_option(to, into.folder);
    to.add_flag("--json", into.json, "One JSON line");
    to.add_option("JOB", into.job, "A job, with its history; without it all jobs")->type_name("");
}

}  // namespace ration::program
