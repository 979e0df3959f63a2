// SPDX-License-Identifier: BSL-1.0
// The program that examples/quickstart.sh builds: `ration` with the command `run` on this machine alone, which compiles
// in less than half the time.
#include "command_line/process.hpp"
#include "command_line/run_command.hpp"

int main(int count, char** words) {
    using namespace ration::program;
    constexpr subcommand commands[] = {{"run", help_of_run, make_command<run_options, run_here>}};
    constexpr auto notes =
        "This program has one command. examples/build.sh ration builds the program with all of them, build/release/bin/ration.";
    if (!prepare_process()) return static_cast<int>(exit_code::no_backend);
    return perform_command_line(count, words, {.commands = commands, .notes = notes});
}
