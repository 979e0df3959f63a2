// SPDX-License-Identifier: BSL-1.0
#include "config/text_edit.hpp"

#include <algorithm>

namespace ration::program {

entry* find_key(table& in, std::string_view name) {
    auto const found = std::ranges::find(in, name, &entry::key);
    return found == in.end() ? nullptr : &*found;
}

table* find_job(table& root, std::size_t number) {
    auto* const jobs = find_key(root, "job");
    auto* const list = jobs != nullptr ? std::get_if<array>(&jobs->held.data) : nullptr;
    return list != nullptr && number < list->size() ? std::get_if<table>(&(*list)[number].data) : nullptr;
}

std::size_t offset_of_line(std::string_view text, std::uint32_t line) {
    std::size_t at = 0;
    for (; line > 1; --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
    return at;
}

std::size_t offset_of(std::string_view text, position at) {
    // A character of UTF-8 has one byte that continues none
    auto const continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    std::size_t offset = offset_of_line(text, at.line);
    for (auto column = at.column; column > 1 && offset < text.size(); --column)
        for (++offset; offset < text.size() && continues(text[offset]);) ++offset;
    return offset;
}

}  // namespace ration::program
