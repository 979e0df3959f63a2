// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include "completion.hpp"

namespace ration::program {
namespace {

/// In single quotes.
[[nodiscard]] std::string quoted_for_fish(std::string_view text) {
    std::string out = "'";
    for (char const c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + '\'';
}

/// A list is completed after its last comma.
[[nodiscard]] std::string words_of(offered_values const& offers) {
    auto const words = fmt::format("{}", fmt::join(offers.words, " "));
    return offers.list ? fmt::format("(__ration_list {})", words) : words;
}

[[nodiscard]] std::string seen(std::string_view command) {
    return fmt::format("__fish_seen_subcommand_from {}", command);
}

void option(std::string& out, std::string_view condition, described_option const& o) {
    out += fmt::format("complete -c ration -n {}", quoted_for_fish(condition));
    for (auto const& name : o.names) out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!o.value.empty()) out += o.offers.files || o.offers.plugins ? " -r -F" : " -x";
    if (!o.offers.words.empty()) out += fmt::format(" -a {}", quoted_for_fish(words_of(o.offers)));
    out += fmt::format(" -d {}\n", quoted_for_fish(o.help));
}

}  // namespace

std::string fish_completion(described_program const& program) {
    std::string out =
        "# SPDX-License-Identifier: BSL-1.0\n# Completion of ration for fish; made from its command line, as its --help is.\n"
        "function __ration_list\n"
        "    set -l done (string match -r '^(?:.*[,=])?' -- (commandline -ct | string replace -r '^--[a-z-]+=' ''))\n"
        "    printf '%s\\n' $done$argv\nend\ncomplete -c ration -f\n";
    std::string const none = "__fish_use_subcommand";
    for (auto const& o : program.itself.options) option(out, none, o);
    for (auto const& command : program.commands) {
        auto const space = command.name.find(' ');
        auto const last = command.name.substr(space == command.name.npos ? 0 : space + 1);
        auto const above =
            space == command.name.npos ? none : seen(command.name.substr(0, space)) + "; and not " + seen(last);
        out += fmt::format("complete -c ration -n {} -a {} -d {}\n", quoted_for_fish(above), last,
                           quoted_for_fish(command.help));
        auto const condition = seen(last);
        for (auto const& o : command.options)
            if (!o.positional)
                option(out, condition, o);
            else if (o.offers.files)
                out += fmt::format("complete -c ration -n {} -F\n", quoted_for_fish(condition));
            else if (!o.offers.words.empty())
                out += fmt::format("complete -c ration -n {} -a {}\n", quoted_for_fish(condition),
                                   quoted_for_fish(words_of(o.offers)));
    }
    return out;
}

}  // namespace ration::program
