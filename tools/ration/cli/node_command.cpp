// SPDX-License-Identifier: BSL-1.0
#include "cli/node_command.hpp"

#include <CLI/CLI.hpp>

namespace ration::program {
namespace {

constexpr auto notes_of_node =
    R"(Example:
  ration run jobs.toml --nodes 'ssh {host} ration node' --hosts n1,n2

It exchanges lines of JSON with that controller over standard input and standard output; docs/wire.md describes them.
If the controller is gone, the jobs run on for the time of --node-lease, and are then saved and stopped.
Exit codes: 0 the run has ended; 2 no message of a controller, or one of another version; 3 this node cannot run the jobs.)";

}  // namespace

void add_options(CLI::App& to, node_options&, option_context&) { to.footer(notes_of_node); }

}  // namespace ration::program
