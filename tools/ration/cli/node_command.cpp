// SPDX-License-Identifier: BSL-1.0
#include "cli/node_command.hpp"

#include <CLI/CLI.hpp>

namespace ration::program {
namespace {

constexpr auto notes_of_node =
    R"(Example:
  ration run jobs.toml --nodes 'ssh {host} ration node' --hosts n1,n2

'ration run --nodes' starts this command. Both exchange lines of JSON over standard input and output; docs/wire.md describes them.
Without messages of 'ration run', the jobs run on for the time of --node-lease, and are then saved and stopped.
Exit codes: 0 the run has ended; 2 no message of a controller, or one of another version; 3 this node cannot run the jobs.)";

}  // namespace

void add_options(CLI::App& to, node_options&, option_context&) { to.footer(notes_of_node); }

}  // namespace ration::program
