// SPDX-License-Identifier: BSL-1.0
#include "command_line/describe.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "common/version_text.hpp"

namespace ration::program {
namespace {

/// CLI11's name for the type of a number with bounds: "N:INT in [1 - 9]".
constexpr std::string_view in_range = " in [";

[[nodiscard]] described_option describe(CLI::Option const& option, option_offers const& offers) {
    described_option made{.names = {},
                          .positional = option.get_positional(),
                          .required = option.get_required(),
                          .value = {},
                          .range = {},
                          .help = option.get_description(),
                          .excludes = {},
                          .offers = {}};
    for (auto const& name : option.get_snames()) made.names.push_back('-' + name);
    for (auto const& name : option.get_lnames()) made.names.push_back("--" + name);
    if (made.positional) made.names = {option.get_name()};
    if (option.get_items_expected_max() > 0 && !made.positional) made.value = option.get_type_name();
    if (auto const at = made.value.find(in_range); at != made.value.npos) {
        made.range = made.value.substr(at + in_range.size(), made.value.rfind(']') - at - in_range.size());
        made.value.resize(made.value.rfind(':', at));
    }
    if (auto const known = offers.find(&option); known != offers.end()) made.offers = known->second;
    for (auto const* other : option.get_excludes()) made.excludes.push_back(other->get_name());
    std::ranges::sort(made.excludes);
    auto const& what = made.positional ? made.names.front() : made.value;
    made.offers.files = what == "FILE" || what == "LOG" || what == "PATH";
    made.offers.list = option.get_delimiter() == ',';
    return made;
}

[[nodiscard]] described_command describe_command(CLI::App const& app, std::string name, option_offers const& offers) {
    described_command command{.name = std::move(name),
                              .help = app.get_description(),
                              .commands = {},
                              .options = {},
                              .notes = app.get_footer()};
    for (auto const* below : app.get_subcommands({})) command.commands.push_back(below->get_name());
    for (auto const* option : app.get_options()) command.options.push_back(describe(*option, offers));
    return command;
}

}  // namespace

described_program describe(CLI::App const& program, option_offers const& offers) {
    described_program made{
        .itself = describe_command(program, program.get_name(), offers), .commands = {}, .version = version_text()};
    made.itself.commands.clear();
    for (auto const* command : program.get_subcommands({})) {
        auto const name = command->get_name();
        made.commands.push_back(describe_command(*command, name, offers));
        for (auto const* below : command->get_subcommands({}))
            made.commands.push_back(describe_command(*below, name + ' ' + below->get_name(), offers));
    }
    for (auto& command : made.commands)
        if (command.notes == made.itself.notes) command.notes.clear();  // without notes its help has the program's
    return made;
}

}  // namespace ration::program
