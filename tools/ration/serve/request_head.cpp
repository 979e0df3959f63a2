// SPDX-License-Identifier: BSL-1.0
#include "serve/request_head.hpp"

#include <algorithm>

#include "common/trimmed.hpp"

namespace ration::program {
namespace {

constexpr std::string_view end_of_line = "\r\n";

[[nodiscard]] bool is_name(std::string_view sent, std::string_view lower_case) noexcept {
    return std::ranges::equal(sent, lower_case,
                              [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Removes the first line from `text`.
[[nodiscard]] std::string_view take_line(std::string_view& text) noexcept {
    auto const end = text.find(end_of_line);
    auto const line = text.substr(0, end);
    text.remove_prefix(line.size() + end_of_line.size());
    return line;
}

[[nodiscard]] bool read_first_line(std::string_view line, request_head& into) noexcept {
    auto const first = line.find(' '), last = line.rfind(' ');
    if (first == line.npos || first == last || !line.substr(last + 1).starts_with("HTTP/1.")) return false;
    into.method = line.substr(0, first);
    into.target = line.substr(first + 1, last - first - 1);
    return !into.method.empty() && into.target.starts_with('/') && into.target.find(' ') == line.npos;
}

}  // namespace

std::optional<std::string_view> request_head::find(std::string_view name) const noexcept {
    auto const found = std::ranges::find_if(fields, [&](auto const& field) { return is_name(field.first, name); });
    return found == fields.end() ? std::nullopt : std::optional(found->second);
}

std::size_t request_head::count(std::string_view name) const noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(fields, [&](auto const& field) { return is_name(field.first, name); }));
}

std::optional<request_head> parse_head(std::string_view received) {
    auto const end = received.find("\r\n\r\n");
    if (end == received.npos) return std::nullopt;
    request_head head{.method = {}, .target = {}, .fields = {}, .length = end + 4};
    auto rest = received.substr(0, end + 2);
    if (!read_first_line(take_line(rest), head)) return std::nullopt;
    while (!rest.empty()) {
        auto const line = take_line(rest);
        auto const colon = line.find(':');
        // A name ends directly before the colon, and no line continues the one above.
        if (colon == line.npos || colon == 0 || line.substr(0, colon).find_first_of(" \t\r\n") != line.npos)
            return std::nullopt;
        head.fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
    }
    return head;
}

}  // namespace ration::program
