// SPDX-License-Identifier: BSL-1.0
#include "man_page.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ration::program {
namespace {

/// So that troff prints what is written: nothing is taken for a request, and a hyphen can be searched for and copied as
/// one.
[[nodiscard]] std::string troff_escaped(std::string_view text) {
    std::string out;
    bool line_begins = true;
    for (char const c : text) {
        if (line_begins && (c == '.' || c == '\'')) out += "\\&";
        line_begins = c == '\n';
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '`': out += "\\(ga"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            default: out += c;
        }
    }
    return out;
}

[[nodiscard]] std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return out;
}

/// The text below the options of a `--help`, in its parts.
struct notes {
    std::string examples, text, codes;
};

[[nodiscard]] notes parts_of(std::string_view rest) {
    constexpr std::string_view codes_begin = "Exit codes: ";
    notes found;
    if (auto const at = rest.find(codes_begin); at != rest.npos) {
        found.codes = rest.substr(at + codes_begin.size());
        rest = rest.substr(0, at);
    }
    while (!rest.empty()) {
        auto const end = rest.find("\n\n");
        auto const paragraph = rest.substr(0, end);
        rest = end == rest.npos ? std::string_view() : rest.substr(end + 2);
        if (paragraph.starts_with("Example"))
            found.examples = paragraph.substr(paragraph.find('\n') + 1);
        else
            found.text += (found.text.empty() ? "" : "\n.PP\n") + troff_escaped(paragraph);
    }
    return found;
}

void head(std::string& out, described_program const& program, std::string_view name, std::string_view help) {
    out += ".\\\" Made from the command line of ration, as its --help is.\n";
    out += fmt::format(".TH {} 1 \"\" \"ration {}\" \"User Commands\"\n", troff_escaped(upper(name)), program.version);
    out += fmt::format(".SH NAME\n{} \\- {}\n", troff_escaped(name), troff_escaped(help));
}

void synopsis(std::string& out, described_command const& command) {
    out += fmt::format(".SH SYNOPSIS\n\\fBration {}\\fR", troff_escaped(command.name));
    for (auto const& option : command.options)
        if (option.required && !option.positional)
            out +=
                fmt::format(" \\fB{}\\fR \\fI{}\\fR", troff_escaped(option.names.back()), troff_escaped(option.value));
    if (!command.commands.empty()) out += " \\fICOMMAND\\fR";
    out += " [\\fIOPTIONS\\fR]";
    for (auto const& option : command.options) {
        if (!option.positional) continue;
        auto const name = fmt::format("\\fI{}\\fR", troff_escaped(option.names.back()));
        out += option.required ? ' ' + name : " [" + name + "...]";
    }
    out += '\n';
}

void options(std::string& out, described_command const& command) {
    out += ".SH OPTIONS\n";
    for (auto const& option : command.options) {
        std::string names;
        for (auto const& name : option.names)
            names += (names.empty() ? "" : ", ") +
                     fmt::format("\\f{}{}\\fR", option.positional ? 'I' : 'B', troff_escaped(name));
        if (!option.value.empty()) names += fmt::format(" \\fI{}\\fR", troff_escaped(option.value));
        out += fmt::format(".TP\n{}\n{}.\n", names, troff_escaped(option.help));
        if (!option.range.empty()) out += fmt::format("A number in the range {}.\n", option.range);
        if (!option.excludes.empty())
            out += fmt::format("Not with {}.\n", troff_escaped(fmt::format("{}", fmt::join(option.excludes, ", "))));
        if (option.offers.plugins)
            out +=
                fmt::format("Built in: {}.\n", troff_escaped(fmt::format("{}", fmt::join(option.offers.words, ", "))));
    }
}

/// "0 all went well; 1 a job failed." as a list.
void exit_status(std::string& out, std::string_view codes) {
    out += ".SH EXIT STATUS\n";
    if (codes.ends_with('.')) codes.remove_suffix(1);
    while (!codes.empty()) {
        auto const end = codes.find(';');
        auto const item = codes.substr(0, end);
        auto const space = item.find(' ');
        out += fmt::format(".TP\n{}\n{}\n", item.substr(0, space), troff_escaped(item.substr(space + 1)));
        codes = end == codes.npos ? std::string_view() : codes.substr(codes.find_first_not_of(" \n", end + 1));
    }
}

void below(std::string& out, described_program const& program, std::string_view text) {
    auto const found = parts_of(text);
    if (!found.text.empty()) out += ".SH NOTES\n" + found.text + '\n';
    auto const codes = found.codes.empty() ? parts_of(program.itself.notes).codes : found.codes;
    exit_status(out, codes);
    if (!found.examples.empty()) out += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", troff_escaped(found.examples));
}

void list_command(std::string& out, described_command const& command) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fB{}\\fR(1).\n", troff_escaped(command.name),
                       troff_escaped(command.help), troff_escaped(page_name(command)));
}

}  // namespace

std::string page_name(described_command const& command) {
    auto name = "ration-" + command.name;
    std::ranges::replace(name, ' ', '-');
    return name;
}

std::string man_page(described_program const& program) {
    std::string out;
    head(out, program, "ration", program.itself.help);
    out += ".SH SYNOPSIS\n\\fBration\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
    for (auto const& command : program.commands) list_command(out, command);
    options(out, program.itself);
    below(out, program, program.itself.notes);
    std::string others;
    for (auto const& command : program.commands)
        others += (others.empty() ? "" : ",\n") + fmt::format("\\fB{}\\fR(1)", troff_escaped(page_name(command)));
    return out + ".SH SEE ALSO\n" + others + '\n';
}

std::string man_page(described_program const& program, described_command const& command) {
    std::string out;
    head(out, program, page_name(command), command.help);
    synopsis(out, command);
    if (!command.commands.empty()) out += ".SH COMMANDS\n";
    for (auto const& below : program.commands)
        if (below.name.starts_with(command.name + ' ')) list_command(out, below);
    options(out, command);
    below(out, program, command.notes);
    return out + ".SH SEE ALSO\n\\fBration\\fR(1)\n";
}

}  // namespace ration::program
