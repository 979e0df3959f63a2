// SPDX-License-Identifier: BSL-1.0
#include <fmt/ranges.h>

#include "completion.hpp"

namespace ration::program {
namespace {

constexpr auto zsh_frame = R"(#compdef ration
# SPDX-License-Identifier: BSL-1.0
# Completion of ration for zsh; made from its command line, as its --help is.
_ration_words_or_path() {{
  if [[ $PREFIX == [.~]* || $PREFIX == */* ]]; then
    _files
  else
    _values "$@"
  fi
}}
_ration() {{
  local context state state_descr line
  local -A opt_args
  _arguments -C {options} '1:command:->command' '*::argument:->argument'
  case $state in
    command)
      local -a commands=({names})
      _describe command commands
      ;;
    argument)
      case $words[1] in
{commands}      esac
      ;;
  esac
}}
_ration "$@"
)";

/// Inside single quotes, and inside the brackets or between the colons of `_arguments`.
[[nodiscard]] std::string zsh_escaped(std::string_view text) {
    std::string out;
    for (char const c : text)
        if (c == '\'')
            out += "'\\''";
        else if (c == '[' || c == ']' || c == ':' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (c != '\n')
            out += c;
        else
            out += ' ';
    return out;
}

[[nodiscard]] std::string action_of(described_option const& option) {
    auto const& offers = option.offers;
    if (offers.files) return "_files";
    if (offers.words.empty()) return " ";
    std::string words;
    for (auto const& word : offers.words) words += ' ' + zsh_escaped(word);
    std::string const separator = offers.list ? "-s , " : "";
    return fmt::format("{} {}value{}", offers.plugins ? "_ration_words_or_path" : "_values", separator, words);
}

[[nodiscard]] std::string spec_of(described_option const& option) {
    auto const& name = option.names.back();
    if (option.positional) return fmt::format("'*:{}:{}'", zsh_escaped(name), action_of(option));
    if (option.value.empty()) return fmt::format("'{}[{}]'", name, zsh_escaped(option.help));
    return fmt::format("'{}{}=[{}]:{}:{}'", option.offers.list ? "" : "*", name, zsh_escaped(option.help),
                       zsh_escaped(option.value), action_of(option));
}

[[nodiscard]] std::string specs_of(described_command const& command) {
    std::string specs;
    for (auto const& option : command.options) specs += (specs.empty() ? "" : " ") + spec_of(option);
    return specs;
}

/// The first word after a group chooses one of its commands.
[[nodiscard]] std::string group(described_program const& program, described_command const& of) {
    std::string cases;
    for (auto const& command : program.commands)
        if (command.name.starts_with(of.name + ' '))
            cases += fmt::format("{}) _arguments {} ;; ", command.name.substr(of.name.size() + 1), specs_of(command));
    return fmt::format(
        "_arguments -C {} '1:command:({})' '*::argument:->below'; [[ $state == below ]] && case $words[1] in {}esac",
        specs_of(of), fmt::join(of.commands, " "), cases);
}

}  // namespace

std::string zsh_completion(described_program const& program) {
    std::string names, commands;
    for (auto const& command : program.commands) {
        if (command.name.find(' ') != command.name.npos) continue;
        names += fmt::format("{}'{}:{}'", names.empty() ? "" : " ", command.name, zsh_escaped(command.help));
        commands += fmt::format("        {}) {} ;;\n", command.name,
                                command.commands.empty() ? "_arguments " + specs_of(command) : group(program, command));
    }
    return fmt::format(zsh_frame, fmt::arg("options", specs_of(program.itself)), fmt::arg("names", names),
                       fmt::arg("commands", commands));
}

}  // namespace ration::program
