// SPDX-License-Identifier: BSL-1.0
#include "cli/wait_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_wait = R"(Examples:
  ration wait vae-17 && ration submit -- python3 evaluate.py

Waits until the job has ended, also while the service is down or starts again.
Exit codes: that of the job's program, 128 + number for a signal; 0 for a job that ration ended at its Objective; 1 for a failed job
without a code; 4 for a cancelled job without one; 2 unknown job; 3 the list of jobs cannot be read.)";

}  // namespace

void add_options(CLI::App& to, wait_options& into, option_context&) {
    to.footer(notes_of_wait);
    add_state_option(to, into.folder);
    to.add_flag("--json", into.json, "The job at its end as one JSON line");
    to.add_option("JOB", into.job, "A job by its number or label")->required()->type_name("");
}

}  // namespace ration::program
