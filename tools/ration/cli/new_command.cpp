// SPDX-License-Identifier: BSL-1.0
#include "cli/new_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <string>
#include <system_error>

#include "cli/new_templates.hpp"
#include "command_line/option_checks.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_policy_name =
    40;  // with what the templates put around it, it fits every field of a manifest

constexpr auto notes_of_new = R"(Example:
  ration new my-policy && cd my-policy
  cmake -B build && cmake --build build && ctest --test-dir build

Exit codes: 0 the folder is there; 2 wrong command line, or the folder cannot be made.)";

namespace fs = std::filesystem;

[[nodiscard]] std::string replaced(std::string text, std::string_view what, std::string_view with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

/// For C++, C, CMake and Cargo. The ending keeps it apart from their keywords and from the targets that CMake has for
/// itself.
[[nodiscard]] std::string identifier_of(std::string const& name) {
    std::string const identifier = replaced(name, "-", "_");
    return identifier.ends_with("policy") ? identifier : identifier + "_policy";
}

/// The name last: it may hold what is to be replaced.
[[nodiscard]] std::string filled_in(std::string_view text, std::string const& name) {
    constexpr std::string_view placeholder = "\x01";
    auto const marked = replaced(std::string(text), "my-policy", placeholder);
    return replaced(replaced(marked, "my_policy", identifier_of(name)), placeholder, name);
}

/// False when it cannot be written as a whole.
[[nodiscard]] bool write_file(fs::path const& to, std::string const& text) {
    std::error_code failed;
    fs::create_directories(to.parent_path(), failed);
    std::ofstream out(to, std::ios::binary);
    out << text << std::flush;
    return out.good();
}

[[nodiscard]] result<void, diagnostic> check_policy_name(std::string_view name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                               others = "0123456789-_";
    bool const good = !name.empty() && name.size() <= longest_policy_name &&
                      letters.find(name.front()) != letters.npos && std::ranges::all_of(name, [&](char c) {
                          return letters.find(c) != letters.npos || others.find(c) != others.npos;
                      });
    if (good) return {};
    return diagnostic{.text = fmt::format("{} is not a name for a policy: take up to {} letters, digits, '-' and '_', "
                                          "with a letter in front",
                                          program::quoted(name), longest_policy_name)};
}

[[nodiscard]] result<void, diagnostic> check_language(std::string_view word) {
    auto const known = template_languages();
    if (std::ranges::find(known, word) != known.end()) return {};
    return diagnostic{.text = "unknown language " + program::quoted(word) + suggestion(word, known)};
}

}  // namespace

void add_options(CLI::App& to, new_options& into, option_context& context) {
    to.footer(notes_of_new);
    to.add_option("NAME", into.name, "Of the policy and its folder")
        ->required()
        ->type_name("")
        ->check(checked_by(check_policy_name));
    auto* const language = to.add_option("--lang", into.language,
                                         fmt::format("{}; c++ when left out", fmt::join(template_languages(), ", ")));
    language->type_name("LANGUAGE")->check(checked_by(check_language));
    for (auto const word : template_languages()) context.offers[language].words.emplace_back(word);
}

exit_code make_project(new_options const& options) {
    std::error_code failed;
    if (fs::exists(fs::symlink_status(options.name, failed)))
        return fail(exit_code::bad_input,
                    program::quoted(options.name) + " is there already: choose another name, or move it away");
    if (!fs::create_directory(options.name, failed))
        return fail(exit_code::bad_input,
                    fmt::format("cannot make the folder {}: {}; go to a folder that you may write in",
                                program::quoted(options.name), failed.message()));
    for (auto const& file : template_files()) {
        if (file.set != "common" && file.set != options.language) continue;
        if (write_file(fs::path(options.name) / file.path, filled_in(file.text, options.name))) continue;
        fs::remove_all(options.name, failed);  // half a project would be in the way of the next attempt
        return fail(exit_code::bad_input,
                    fmt::format("cannot write the files of {}: is the disk full?", program::quoted(options.name)));
    }
    fmt::print(
        "{0} is a policy that works. Next:\n"
        "  cd {0}\n"
        "  cmake -B build && cmake --build build && ctest --test-dir build\n"
        "README.md describes where the rule is and how to run jobs under it.\n",
        options.name);
    return exit_code::ok;
}

std::vector<std::string_view> template_languages() {
    std::vector<std::string_view> names;
    for (auto const& file : template_files())
        if (file.set != "common" && std::ranges::find(names, file.set) == names.end()) names.push_back(file.set);
    return names;
}

}  // namespace ration::program
