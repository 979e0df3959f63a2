// SPDX-License-Identifier: BSL-1.0
#include "config/document.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <utility>

#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "config/nesting.hpp"

namespace ration::program {

namespace {

[[nodiscard]] position place(toml::source_region const& region) noexcept {
    return {region.begin.line, region.begin.column};
}

[[nodiscard]] value convert(toml::node const& node);

[[nodiscard]] table convert_table(toml::table const& from) {
    table out;
    for (auto&& [key, node] : from) out.push_back({std::string(key.str()), place(key.source()), convert(node)});
    std::ranges::sort(out, {}, &entry::key_at);
    return out;
}

[[nodiscard]] array convert_array(toml::array const& from) {
    array out;
    for (auto const& node : from) out.push_back(convert(node));
    return out;
}

[[nodiscard]] value convert(toml::node const& node) {
    value out{place(node.source()), moment{}};
    if (auto const* t = node.as_table())
        out.data = convert_table(*t);
    else if (auto const* a = node.as_array())
        out.data = convert_array(*a);
    else if (auto const* s = node.as_string())
        out.data = s->get();
    else if (auto const* i = node.as_integer())
        out.data = i->get();
    else if (auto const* f = node.as_floating_point())
        out.data = f->get();
    else if (auto const* b = node.as_boolean())
        out.data = b->get();
    return out;
}

/// Of a value, so that two values have one text only if they are the same.
struct text_of {
    [[nodiscard]] std::string operator()(value const& v) const { return std::visit(*this, v.data); }
    [[nodiscard]] std::string operator()(std::string const& s) const {
        std::string out = "\"";
        for (char const c : s) {
            if (c == '"' || c == '\\') out += '\\';
            out += c;
        }
        return out + '"';
    }
    [[nodiscard]] std::string operator()(array const& a) const {
        std::vector<std::string> words;
        for (auto const& v : a) words.push_back((*this)(v));
        return fmt::format("[{}]", fmt::join(words, ", "));
    }
    [[nodiscard]] std::string operator()(table const& t) const {
        return fmt::format("{{{}}}", fmt::join(lines_of(t), ", "));
    }
    [[nodiscard]] std::string operator()(moment) const { return "a moment"; }
    [[nodiscard]] std::string operator()(auto plain) const { return fmt::format("{}", plain); }
};

/// Whether the line, counted from 1, has a named group of a regular expression, which TOML's quotes may break.
[[nodiscard]] bool holds_pattern(std::string_view text, std::uint32_t line) noexcept {
    for (; line > 1 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    auto const rest = text.substr(0, text.find('\n'));
    return rest.find("(?<") != rest.npos || rest.find("(?P<") != rest.npos;
}

}  // namespace

std::vector<std::string> lines_of(table const& t) {
    std::vector<std::string> lines;
    for (auto const& e : t) lines.push_back(fmt::format("{} = {}", text_of{}(e.key), text_of{}(e.held)));
    std::ranges::sort(lines);
    return lines;
}

std::string_view kind_of(value const& v) noexcept {
    constexpr std::string_view names[] = {"true or false", "a whole number", "a decimal number", "text",
                                          "an array",      "a table",        "a date or time"};
    return names[v.data.index()];
}

result<table, diagnostic> parse_document(std::string_view text) {
    if (auto const flat = check_nesting(text); !flat) return flat.failure();
    try {
        return convert_table(toml::parse(text));
    } catch (toml::parse_error const& e) {
        auto const at = place(e.source());
        std::string_view const hint = holds_pattern(text, at.line) ? "; write the pattern as log = '''...'''" : "";
        return diagnostic{.line = at.line,
                          .column = at.column,
                          .text = fmt::format("this is not TOML: {}{}", printable(e.description()), hint)};
    }
}

value const* table_reader::take(std::string_view key) {
    if (!is_known(key)) known_.push_back(key);
    auto const found = std::ranges::find(table_, key, &entry::key);
    return found == table_.end() ? nullptr : &found->held;
}

std::optional<double> table_reader::take_number(std::string_view key, std::string_view wanted) {
    value const* const v = take(key);
    if (v == nullptr) return std::nullopt;
    if (auto const* whole = std::get_if<std::int64_t>(&v->data)) return static_cast<double>(*whole);
    if (auto const* real = std::get_if<double>(&v->data)) return *real;
    wrong_kind(key, *v, wanted);
    return std::nullopt;
}

position table_reader::place_of(std::string_view key) const noexcept {
    auto const found = std::ranges::find(table_, key, &entry::key);
    return found == table_.end() ? position{} : found->held.at;
}

void table_reader::report_unknown(entry const& e, std::vector<std::string_view> const& also_known) const {
    auto candidates = known_;
    candidates.insert(candidates.end(), also_known.begin(), also_known.end());
    problems_.add(e.key_at, "unknown key " + quoted(e.key) + " in " + where_ + suggestion(e.key, candidates));
}

void table_reader::wrong_kind(std::string_view key, value const& v, std::string_view wanted) const {
    problems_.add(v.at,
                  "'" + std::string(key) + "' must be " + std::string(wanted) + ", not " + std::string(kind_of(v)));
}

bool table_reader::is_known(std::string_view key) const noexcept {
    return std::ranges::find(known_, key) != known_.end();
}

}  // namespace ration::program
