// SPDX-License-Identifier: BSL-1.0
#include "common/printable.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "common/utf8.hpp"

namespace ration::program {

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t length; !text.empty(); text.remove_prefix(std::max<std::size_t>(length, 1))) {
        length = utf8_length(text);
        if (length == 0 || steers_text(text.substr(0, length)))
            out += '?';
        else
            out += text.substr(0, length);
    }
    return out;
}

std::string printable_lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        auto const line = text.substr(0, text.find('\n'));
        out += printable(line) + '\n';
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return out;
}

std::string quote_text::operator()(std::string_view text) const {
    constexpr std::size_t longest = 60;
    if (text.size() <= longest) return fmt::format("'{}'", printable(text));
    std::size_t end = longest;
    // Not in the middle of a character
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return fmt::format("'{}...'", printable(text.substr(0, end)));
}

}  // namespace ration::program
