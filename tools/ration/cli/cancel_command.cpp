// SPDX-License-Identifier: BSL-1.0
#include "cli/cancel_command.hpp"

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

}  // namespace

void add_options(CLI::App& to, cancel_options& into, option_context&) {
    to.footer(notes_of_cancel);
    add_jobs_options(to, into);
}

}  // namespace ration::program
