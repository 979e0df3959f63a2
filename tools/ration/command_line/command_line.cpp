// SPDX-License-Identifier: BSL-1.0
#include "command_line/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "common/version_text.hpp"

namespace ration::program {

namespace {

/// CLI11's view of the program, and the commands that it fills in.
class parser {
    CLI::App app_{"Shares a machine among training jobs, on purpose."};
    option_context context_;
    std::vector<std::pair<CLI::App*, std::unique_ptr<command>>> commands_;

public:
    parser(command_table const& table, std::vector<std::string> const& policies)
        : context_{.policies = policies, .offers = {}} {
        app_.name("ration");
        app_.footer(table.notes);
        app_.set_version_flag("--version", "ration " + version_text(), "Print the version and exit");
        app_.require_subcommand(1);
        app_.set_help_flag("-h,--help", "Print this and exit");
        for (auto const& one : table.commands) {
            auto* const to = add(one);
            if (one.make == nullptr) continue;
            commands_.emplace_back(to, one.make()).second->declare_options(*to, context_);
        }
    }

    [[nodiscard]] described_program described() const { return describe(app_, context_.offers); }

    [[nodiscard]] parsed_command_line parse(std::vector<std::string> words) {
        std::ranges::reverse(words);  // CLI11 takes words from the back
        try {
            app_.parse(std::move(words));
        } catch (CLI::Success const& request) {
            return answer{reply(request), exit_code::ok};
        } catch (CLI::ParseError const& e) {
            return answer{"ration: " + printable(sentence(e)) + '\n', exit_code::bad_input};
        }
        return std::move(
            std::ranges::find(commands_, &reached(), &std::pair<CLI::App*, std::unique_ptr<command>>::first)->second);
    }

private:
    CLI::App* add(subcommand const& one) {
        std::string const path = one.name;
        auto const space = path.find(' ');
        auto& above = space == path.npos ? app_ : *app_.get_subcommand(path.substr(0, space));
        auto* const to = above.add_subcommand(path.substr(space == path.npos ? 0 : space + 1), one.help);
        if (one.make == nullptr) {
            to->require_subcommand(1);
            to->footer(fmt::format("See 'ration {} COMMAND --help'.", path));
        }
        return to;
    }

    [[nodiscard]] std::string reply(CLI::Success const& request) const {
        if (request.get_name() == "CallForHelp") return app_.help();
        return std::string(request.what()) + '\n';  // the version
    }

    /// The command or the group that the words got to.
    [[nodiscard]] CLI::App const& reached() const {
        CLI::App const* at = &app_;
        while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
        return *at;
    }

    [[nodiscard]] std::string sentence(CLI::ParseError const& e) const {
        auto const& where = reached();
        if (auto const word = first_unknown(where); !word.empty()) return sentence_on_unknown(where, word);
        std::string const help = path_of(where) + " --help";
        if (auto const names = command_names(where); !names.empty())
            return fmt::format("say what to do: {}; see '{}'", fmt::join(names, ", "), help);
        if (e.get_name() == "ValidationError") return e.what();
        std::string const reply = e.what();
        if (e.get_name() == "ArgumentMismatch")
            return fmt::format("'{}' takes one value; see '{}'", reply.substr(0, reply.find(':')), help);
        return fmt::format("{}; see '{}'", reply, help);
    }

    /// The first word that CLI11 could not use; empty: none. Words behind '--' can be left to the program, and come
    /// after those of the command. The mark itself is not at fault.
    [[nodiscard]] std::string first_unknown(CLI::App const& where) const {
        for (auto const* const owner : {&where, &app_})
            for (auto const& word : owner->remaining(true))
                if (word != "--") return word;
        return {};
    }

    [[nodiscard]] std::string sentence_on_unknown(CLI::App const& where, std::string const& word) const {
        if (!word.starts_with('-')) {
            auto const names = command_names(where);
            if (!names.empty())
                return "unknown command " + program::quoted(word) + suggestion(word, {names.begin(), names.end()});
            return fmt::format("{} is one word too many for '{}'; see '{} --help'", program::quoted(word),
                               where.get_name(), path_of(where));
        }
        std::vector<std::string> names;
        for (auto const* option : where.get_options())
            for (auto const& name : option->get_lnames()) names.push_back("--" + name);
        return "unknown option " + program::quoted(word) +
               suggestion(word.substr(0, word.find('=')), {names.begin(), names.end()});
    }

    /// "ration measure scaling".
    [[nodiscard]] static std::string path_of(CLI::App const& where) {
        auto const* const above = where.get_parent();
        return above == nullptr ? where.get_name() : path_of(*above) + ' ' + where.get_name();
    }

    /// Of the program or of a group.
    [[nodiscard]] static std::vector<std::string> command_names(CLI::App const& of) {
        std::vector<std::string> names;
        for (auto const* command : of.get_subcommands({})) names.push_back(command->get_name());
        return names;
    }
};

}  // namespace

parsed_command_line parse_command_line(std::vector<std::string> words, command_table const& table,
                                       std::vector<std::string> const& policies) {
    return parser(table, policies).parse(std::move(words));
}

described_program describe_command_line(command_table const& table, std::vector<std::string> const& policies) {
    return parser(table, policies).described();
}

}  // namespace ration::program
