// SPDX-License-Identifier: BSL-1.0
#include "config/speedup_edit.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

#include "config/document.hpp"
#include "config/text_edit.hpp"

namespace ration::program {
namespace {

constexpr std::string_view speedup_key = "speedup";

/// The text with another list at this position. None where no list of plain numbers begins there.
[[nodiscard]] std::optional<std::string> with_list_at(std::string_view text, position at, std::string const& list) {
    auto const begin = offset_of(text, at);
    auto const end = text.find(']', begin);
    if (begin >= text.size() || text[begin] != '[' || end == text.npos) return std::nullopt;
    if (text.substr(begin, end - begin).find('#') != text.npos) return std::nullopt;
    return fmt::format("{}{}{}", text.substr(0, begin), list, text.substr(end + 1));
}

/// The text with a new line below the line of `above`, indented and ended like that one.
[[nodiscard]] std::string with_line_below(std::string_view text, position above, std::string const& content) {
    auto const begin = offset_of_line(text, above.line);
    auto const newline = text.find('\n', begin);
    auto const line = text.substr(begin, newline == text.npos ? newline : newline - begin);
    auto const indent = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
    std::string_view const ending = line.ends_with('\r') ? "\r\n" : "\n";
    if (newline == text.npos) return fmt::format("{}{}{}{}", text, ending, indent, content);
    return fmt::format("{}{}{}{}{}", text.substr(0, newline + 1), indent, content, ending, text.substr(newline + 1));
}

/// The text without the list, and the list.
struct content {
    std::vector<std::string> rest;
    std::string list;
};

[[nodiscard]] std::optional<content> content_of(std::string_view text, std::size_t number) {
    auto root = parse_document(text);
    auto* const job = root ? find_job(*root, number) : nullptr;
    if (job == nullptr) return std::nullopt;
    content out;
    if (auto const* const speedup = find_key(*job, speedup_key)) out.list = lines_of({*speedup}).front();
    std::erase_if(*job, [](entry const& e) { return e.key == speedup_key; });
    out.rest = lines_of(*root);
    return out;
}

}  // namespace

std::string speedup_text(std::span<double const> speedup) {
    std::vector<std::string> words;
    for (double const value : speedup) words.push_back(fmt::format("{:.4g}", value));
    return fmt::format("[{}]", fmt::join(words, ", "));
}

result<std::string, diagnostic> with_speedup(std::string_view text, std::size_t job, std::span<double const> speedup) {
    auto root = parse_document(text);
    if (!root) return root.failure();
    auto* const from = find_job(*root, job);
    auto const before = content_of(text, job);
    if (from == nullptr || !before) return diagnostic{.text = "it has no such job"};
    auto const list = speedup_text(speedup);
    std::vector<std::string> candidates;
    if (auto const* const present = find_key(*from, speedup_key)) {
        if (auto changed = with_list_at(text, present->held.at, list)) candidates.push_back(std::move(*changed));
    } else {
        for (std::string_view const above : {"bounds", "name"})
            if (auto const* const e = find_key(*from, above))
                candidates.push_back(with_line_below(text, e->key_at, fmt::format("{} = {}", speedup_key, list)));
    }
    auto const wanted = content_of(fmt::format("[[job]]\n{} = {}", speedup_key, list), 0);
    for (auto& one : candidates)
        if (auto const after = content_of(one, job);
            wanted && after && after->rest == before->rest && after->list == wanted->list)
            return std::move(one);
    return diagnostic{.text = find_key(*from, speedup_key) != nullptr
                                  ? "its list 'speedup' has comments, or is not a list of numbers"
                                  : "the job has neither 'bounds' nor 'name' on a separate line"};
}

}  // namespace ration::program
