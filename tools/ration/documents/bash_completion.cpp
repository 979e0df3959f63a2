// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include "completion.hpp"

namespace ration::program {
namespace {

/// The part that all command lines share. `words` and `kind` describe the valid words at the cursor.
constexpr auto bash_frame = R"(# SPDX-License-Identifier: BSL-1.0
# Completion of ration for bash; made from its command line, as its --help is.
_ration() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} command= words= kind= done= i
  # Bash takes --option=value for three words, and a colon for one.
  if [[ $word == '=' ]]; then
    word=
  elif [[ $option == '=' ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then
      command+=${{command:+ }}${{COMP_WORDS[i]}}
      [[ " {groups} " == *" $command "* ]] || break
    fi
  done
  case "$command $option" in
{values}  *)
    case "$command" in
{commands}    esac
    ;;
  esac
  if [[ $kind == *list* && $word == *,* ]]; then
    done=${{word%,*}},
    word=${{word##*,}}
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [[ $kind == *files* || ($kind == *plugins* && ($word == */* || $word == [.~]*)) ]]; then
    compopt -o filenames
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$word")
  fi
  [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *[:=] ]] && compopt -o nospace
  COMPREPLY=("${{COMPREPLY[@]/#/$done}}")
}}
complete -F _ration ration
)";

[[nodiscard]] std::string kind_of(offered_values const& offers) {
    std::string kind;
    if (offers.files) kind += "files ";
    if (offers.plugins) kind += "plugins ";
    if (offers.list) kind += "list ";
    if (!kind.empty()) kind.pop_back();
    return kind;
}

[[nodiscard]] std::string offer(offered_values const& offers) {
    return fmt::format("words='{}' kind='{}'", fmt::join(offers.words, " "), kind_of(offers));
}

/// Each option that takes a value, as a case.
[[nodiscard]] std::string values_of(described_command const& command) {
    std::string cases;
    for (auto const& option : command.options)
        if (!option.positional && !option.value.empty())
            for (auto const& name : option.names)
                cases += fmt::format("  '{} {}') {} ;;\n", command.name, name, offer(option.offers));
    return cases;
}

[[nodiscard]] std::string options_of(described_command const& command) {
    std::string names;
    for (auto const& option : command.options)
        if (!option.positional) names += fmt::format("{}{}", names.empty() ? "" : " ", option.names.back());
    return names;
}

/// Words where no option waits for its value: an option, or an argument of the command.
[[nodiscard]] std::string rest_of(std::string_view name, described_command const& command,
                                  std::string const& otherwise) {
    return fmt::format("    '{}') if [[ $word == -* ]]; then words='{}'; else {}; fi ;;\n", name, options_of(command),
                       otherwise);
}

}  // namespace

std::string bash_completion(described_program const& program) {
    std::string values, names, groups, commands;
    for (auto const& command : program.commands) {
        values += values_of(command);
        if (command.name.find(' ') == command.name.npos) names += (names.empty() ? "" : " ") + command.name;
        if (!command.commands.empty()) groups += (groups.empty() ? "" : " ") + command.name;
        std::string operand = command.commands.empty() ? ":" : offer({.words = command.commands});
        for (auto const& option : command.options)
            if (option.positional) operand = offer(option.offers);
        commands += rest_of(command.name, command, operand);
    }
    commands = rest_of("", program.itself, fmt::format("words='{}'", names)) + commands;
    return fmt::format(bash_frame, fmt::arg("groups", groups), fmt::arg("values", values),
                       fmt::arg("commands", commands));
}

}  // namespace ration::program
