// SPDX-License-Identifier: BSL-1.0
// The program `ration` with all commands.
#include "cli/commands.hpp"
#include "command_line/process.hpp"
#include "run/copy_runner.hpp"
#include "serve/exit_recorder.hpp"

int main(int count, char** words) {
    using namespace ration::program;
    if (!prepare_process()) return static_cast<int>(exit_code::no_backend);
    if (count > 5 && words[1] == exit_recorder_word) return record_exit(words + 2);
    if (count == 5 && words[1] == copy_word) return perform_copy(words + 2);
    return perform_command_line(count, words, all_commands());
}
