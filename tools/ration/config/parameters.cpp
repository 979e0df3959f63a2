// SPDX-License-Identifier: BSL-1.0
#include "config/parameters.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "common/printable.hpp"
#include "config/text_edit.hpp"

namespace ration::program {
namespace {

constexpr std::string_view parameters_key = "parameters";
/// Marks in a command that ration replaces at each launch.
constexpr std::string_view marks_of_launches[] = {"devices", "nodes", "node_rank", "master"};

[[nodiscard]] bool replace_mark(std::string& text, std::string const& mark, std::string const& value) {
    bool found = false;
    for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + value.size())) {
        text.replace(at, mark.size(), value);
        found = true;
    }
    return found;
}

/// Whether the job has the mark of this parameter.
[[nodiscard]] bool insert_value(job_config& job, std::string const& name, std::string const& value) {
    auto const mark = '{' + name + '}';
    bool found = false;
    for (auto& word : job.command) found = replace_mark(word, mark, value) || found;
    for (auto& [variable, text] : job.environment) found = replace_mark(text, mark, value) || found;
    return found;
}

/// The value as the job gets it; none for a kind that a parameter cannot have.
[[nodiscard]] std::optional<std::string> text_of_value(value const& held) {
    if (auto const* const text = std::get_if<std::string>(&held.data)) return *text;
    if (auto const* const whole = std::get_if<std::int64_t>(&held.data)) return std::to_string(*whole);
    return std::nullopt;
}

void read_parameter(entry const& e, job_config& job, diagnostics& problems) {
    auto const text = text_of_value(e.held);
    if (!is_parameter_name(e.key))
        problems.add(e.key_at, fmt::format("{} cannot be a parameter; use a letter, then letters, digits and '_'",
                                           quoted(e.key)));
    else if (std::ranges::find(marks_of_launches, e.key) != std::end(marks_of_launches))
        problems.add(e.key_at, fmt::format("ration sets '{{{}}}' at each launch; choose another name", e.key));
    else if (!text)
        problems.add(e.held.at, fmt::format("parameter {} must be text or a whole number, not {}; put it in quotes",
                                            quoted(e.key), kind_of(e.held)));
    else if (text->find_first_of(std::string_view("\0{}\n", 4)) != text->npos)
        problems.add(e.held.at, fmt::format("the value of parameter {} has a brace, a zero byte or the end of a line; "
                                            "leave it out",
                                            quoted(e.key)));
    else if (!insert_value(job, e.key, *text))
        problems.add(e.key_at,
                     fmt::format("parameter {0} is not used; write {{{1}}} into the command or the environment",
                                 quoted(e.key), e.key));
}

[[nodiscard]] table* find_parameters(table& root, std::size_t job) {
    auto* const from = find_job(root, job);
    auto* const held = from != nullptr ? find_key(*from, parameters_key) : nullptr;
    return held != nullptr ? std::get_if<table>(&held->held.data) : nullptr;
}

/// A whole number as it is, other values in quotes.
[[nodiscard]] std::string toml_of(value const& like, std::string const& text) {
    bool const was_number = std::holds_alternative<std::int64_t>(like.data);
    bool const is_number = !text.empty() && text.size() < 19 && (text == "0" || text.front() != '0') &&
                           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    if (was_number && is_number) return text;
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

/// The end of the value that begins at `begin`; npos if it is neither a number nor a text on one line.
[[nodiscard]] std::size_t end_of_value(std::string_view text, std::size_t begin) {
    if (begin >= text.size() || text.substr(begin).starts_with("\"\"\"") || text.substr(begin).starts_with("'''"))
        return text.npos;
    char const quote = text[begin];
    if (quote != '"' && quote != '\'') return std::min(text.find_first_of(" \t\r\n,}#", begin), text.size());
    for (auto at = begin + 1; at < text.size() && text[at] != '\n'; ++at)
        if (text[at] == '\\' && quote == '"')
            ++at;
        else if (text[at] == quote)
            return at + 1;
    return text.npos;
}

/// All values of the text, with the new one where it belongs.
[[nodiscard]] std::optional<std::vector<std::string>> expected_lines(table root, std::size_t job,
                                                                     launch_parameter const& next) {
    auto* const all = find_parameters(root, job);
    auto* const one = all != nullptr ? find_key(*all, next.first) : nullptr;
    if (one == nullptr) return std::nullopt;
    auto const content = parse_document("v = " + toml_of(one->held, next.second));
    if (!content) return std::nullopt;
    one->held.data = content->front().held.data;
    return lines_of(root);
}

[[nodiscard]] std::optional<std::string> with_one(std::string_view text, std::size_t job,
                                                  launch_parameter const& next) {
    auto root = parse_document(text);
    auto* const all = root ? find_parameters(*root, job) : nullptr;
    auto* const one = all != nullptr ? find_key(*all, next.first) : nullptr;
    if (one == nullptr) return std::nullopt;
    auto const begin = offset_of(text, one->held.at);
    auto const end = end_of_value(text, begin);
    if (end == text.npos) return std::nullopt;
    auto changed = fmt::format("{}{}{}", text.substr(0, begin), toml_of(one->held, next.second), text.substr(end));
    auto const after = parse_document(changed);
    if (!after || expected_lines(*root, job, next) != lines_of(*after)) return std::nullopt;
    return changed;
}

}  // namespace

bool is_parameter_name(std::string_view name) noexcept {
    auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    return !name.empty() && letter(name.front()) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

void read_launch_parameters(table_reader& keys, job_config& job, diagnostics& problems) {
    auto const* const all = keys.take<table>(parameters_key, "a table, such as { threads = 4 }");
    if (all == nullptr) return;
    for (auto const& e : *all) read_parameter(e, job, problems);
}

std::vector<launch_parameter> launch_parameters_of(std::string_view text, std::size_t job) {
    std::vector<launch_parameter> out;
    auto root = parse_document(text);
    auto* const all = root ? find_parameters(*root, job) : nullptr;
    if (all == nullptr) return out;
    for (auto const& e : *all) out.emplace_back(e.key, text_of_value(e.held).value_or(""));
    return out;
}

result<std::string, diagnostic> with_launch_parameters(std::string_view text, std::size_t job,
                                                       std::vector<launch_parameter> const& values) {
    std::string changed(text);
    for (auto const& next : values) {
        auto one = with_one(changed, job, next);
        if (!one)
            return diagnostic{.text = fmt::format("it has no value of parameter {} on one line", quoted(next.first))};
        changed = std::move(*one);
    }
    return changed;
}

}  // namespace ration::program
