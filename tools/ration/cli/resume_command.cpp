// SPDX-License-Identifier: BSL-1.0
#include "cli/resume_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_resume = R"(Examples:
  ration resume vae-17

A job that is still stopping starts again after that.
Exit codes: 0; 2 unknown job, or it has ended; 3 the service cannot be reached.)";

}  // namespace

void add_options(CLI::App& to, resume_options& into, option_context&) {
    to.footer(notes_of_resume);
    add_jobs_options(to, into);
}

}  // namespace ration::program
