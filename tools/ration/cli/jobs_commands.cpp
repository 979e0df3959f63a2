// SPDX-License-Identifier: BSL-1.0
#include "cli/jobs_commands.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_cancel = R"(Examples:
  ration cancel vae-17
  ration cancel 17 18 19

A queued job is HALTED at once. A running job saves and stops, or gets its stop signal, as at the interruption of ration run; wait
for that with 'ration wait'. A job that has ended stays as it is.
Exit codes: 0; 2 unknown job; 3 the service cannot be reached.)";

constexpr auto notes_of_pause = R"(Examples:
  ration pause vae-17
  ration pause 17 18 19

A queued job stays QUEUED. A running job saves and stops as at 'ration cancel', and is QUEUED then. It waits, also after a restart of
the service, until 'ration resume'. Its next launch continues from its checkpoint if it has one, and begins again otherwise. ration warns
of a running job that accepts no commands and has delivered no checkpoint.
Exit codes: 0; 2 unknown job, or it has ended; 3 the service cannot be reached.)";

constexpr auto notes_of_resume = R"(Examples:
  ration resume vae-17

A job that is still stopping starts again after that.
Exit codes: 0; 2 unknown job, or it has ended; 3 the service cannot be reached.)";

void add_jobs_options(CLI::App& to, named_jobs& into, char const* notes) {
    to.footer(notes);
    add_state_option(to, into.folder);
    to.add_flag("--json", into.json, "Each job as one JSON line");
    to.add_option("JOB", into.jobs, "Jobs by their numbers or labels")->required()->type_name("");
}

}  // namespace

void add_options(CLI::App& to, cancel_options& into, option_context&) { add_jobs_options(to, into, notes_of_cancel); }
void add_options(CLI::App& to, pause_options& into, option_context&) { add_jobs_options(to, into, notes_of_pause); }
void add_options(CLI::App& to, resume_options& into, option_context&) { add_jobs_options(to, into, notes_of_resume); }

}  // namespace ration::program
