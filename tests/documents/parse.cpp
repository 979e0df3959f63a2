// SPDX-License-Identifier: BSL-1.0
// Parses command lines without running them: a line of the input has the words behind `ration`, separated by the unit
// separator. Prints a line for each: the sentence that refuses it, or nothing.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "cli/commands.hpp"
#include "command_line/command_line.hpp"
#include "policies/policy_registry.hpp"

using namespace ration::program;

int main() {
    constexpr char separator = '\x1f';
    for (std::string line; std::getline(std::cin, line);) {
        std::vector<std::string> words;
        for (std::size_t from = 0, to = 0; from <= line.size(); from = to + 1) {
            to = std::min(line.find(separator, from), line.size());
            words.push_back(line.substr(from, to - from));
        }
        auto const parsed = parse_command_line(std::move(words), all_commands(), policy_names());
        auto const* const reply = std::get_if<answer>(&parsed);
        bool const is_refused = reply != nullptr && reply->code != exit_code::ok;
        std::puts(is_refused ? reply->text.substr(0, reply->text.find('\n')).c_str() : "");
    }
}
