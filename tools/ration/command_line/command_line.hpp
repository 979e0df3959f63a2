// SPDX-License-Identifier: BSL-1.0
/// The command line, parsed and described.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "command_line/command.hpp"
#include "command_line/description.hpp"

namespace ration::program {

/// The command line asks for nothing more than text: help, the version, or what is wrong with it.
struct answer {
    std::string text;  ///< with its newline
    exit_code code = exit_code::ok;
};

using parsed_command_line = std::variant<answer, std::unique_ptr<command>>;

/// `words` are the arguments without the program's name. `policies` are the names that --policy and --compare may use
/// besides the path of a .so.
[[nodiscard]] parsed_command_line parse_command_line(std::vector<std::string> words, command_table const& table,
                                                     std::vector<std::string> const& policies);

/// The command line of a program with these commands. `policies` as for `parse_command_line`.
[[nodiscard]] described_program describe_command_line(command_table const& table,
                                                      std::vector<std::string> const& policies);

}  // namespace ration::program
