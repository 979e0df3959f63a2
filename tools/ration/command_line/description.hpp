// SPDX-License-Identifier: BSL-1.0
/// The command line as data: the manual pages and the completion of shells have the same content as `--help`.
#pragma once

#include <string>
#include <vector>

namespace ration::program {

/// The words that a shell can offer for a value.
struct offered_values {
    std::vector<std::string> words;
    bool files = false;    ///< any file or folder
    bool plugins = false;  ///< a path, besides the words, where one is begun
    bool list = false;     ///< several, with commas between them
};

struct described_option {
    std::vector<std::string> names;  ///< "--policy", or the one word of a positional argument: "FILE"
    bool positional = false, required = false;
    std::string value;  ///< what follows the name: "NAME"; empty for a flag and for a positional argument
    std::string range;  ///< of a number, "1 - 1000"; empty where the help has it
    std::string help;
    std::vector<std::string> excludes;  ///< names of options that cannot be given with it, sorted
    offered_values offers;
};

struct described_command {
    std::string name;  ///< "run", "measure scaling"; of the program itself: "ration"
    std::string help;
    std::vector<std::string> commands;  ///< of a group: the last words of their names
    std::vector<described_option> options;
    std::string notes;  ///< the text below the options: examples, exit codes
};

struct described_program {
    described_command itself;
    std::vector<described_command> commands;  ///< those of a group follow it
    std::string version;
};

}  // namespace ration::program
