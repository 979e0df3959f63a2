// SPDX-License-Identifier: BSL-1.0
// Writes the manual pages and the completions, when ration is built. usage: ration_documents FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "cli/commands.hpp"
#include "command_line/command_line.hpp"
#include "documents/completion.hpp"
#include "documents/man_page.hpp"
#include "policies/policy_registry.hpp"

namespace {

[[nodiscard]] bool write(std::filesystem::path const& path, std::string const& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file << text;
    return static_cast<bool>(file.flush());
}

}  // namespace

int main(int count, char** words) {
    using namespace ration::program;
    if (count != 2) {
        std::fputs("usage: ration_documents FOLDER\n", stderr);
        return 2;
    }
    std::filesystem::path const folder = words[1];
    auto const program = describe_command_line(all_commands(), policy_names());
    bool good = write(folder / "man1/ration.1", man_page(program));
    for (auto const& command : program.commands)
        good &= write(folder / "man1" / (page_name(command) + ".1"), man_page(program, command));
    good &= write(folder / "bash/ration", bash_completion(program));
    good &= write(folder / "zsh/_ration", zsh_completion(program));
    good &= write(folder / "fish/ration.fish", fish_completion(program));
    if (!good) std::fprintf(stderr, "ration_documents: %s cannot be written\n", words[1]);
    return good ? 0 : 1;
}
