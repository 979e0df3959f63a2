// SPDX-License-Identifier: BSL-1.0
#include "cli/top_command.hpp"

#include <CLI/CLI.hpp>

#include "cli/state_option.hpp"

namespace ration::program {
namespace {

constexpr auto notes_of_top = R"(Examples:
  ration top
  ration top | head      once, without a terminal

Ctrl-C ends the view. Exit codes: 0; 2 wrong command line; 3 the folder has no service.)";

}  // namespace

void add_options(CLI::App& to, top_options& into, option_context&) {
    to.footer(notes_of_top);
    add_state_option(to, into.folder);
}

}  // namespace ration::program
