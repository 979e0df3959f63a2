// SPDX-License-Identifier: BSL-1.0
#include "view/screen_line.hpp"

#include <algorithm>

#include "common/printable.hpp"
#include "common/utf8.hpp"
#include "events/json_writer.hpp"

namespace ration::program {

namespace {

[[nodiscard]] bool begins_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

[[nodiscard]] std::string_view sequence_of(colour c) noexcept {
    switch (c) {
        case colour::none: break;
        case colour::dim: return "\x1b[2m";
        case colour::red: return "\x1b[31m";
        case colour::green: return "\x1b[32m";
        case colour::yellow: return "\x1b[33m";
        case colour::blue: return "\x1b[34m";
    }
    return "";
}

}  // namespace

std::uint32_t columns_of(std::string_view text) noexcept {
    return static_cast<std::uint32_t>(std::ranges::count_if(text, begins_character));
}

std::string_view first_columns(std::string_view text, std::uint32_t columns) noexcept {
    std::size_t end = 0;
    for (std::uint32_t seen = 0; end < text.size(); ++end)
        if (begins_character(text[end]) && seen++ == columns) break;
    return text.substr(0, end);
}

std::string fitted(std::string_view text, std::uint32_t columns, bool unicode) {
    std::string safe;
    for (std::size_t length; !text.empty(); text.remove_prefix(std::max<std::size_t>(length, 1))) {
        length = utf8_length(text);
        if (length == 0 || (length > 1 && !unicode))
            safe += '?';
        else
            safe += text.substr(0, length);
    }
    safe = printable(safe);
    if (columns_of(safe) <= columns) return safe;
    return columns == 0 ? std::string() : std::string(first_columns(safe, columns - 1)) + '~';
}

screen_line& screen_line::add(std::string_view text, colour c) {
    auto const part = first_columns(text, width_ - columns_);
    columns_ += columns_of(part);
    bool const coloured = colours_ && c != colour::none && !part.empty();
    if (coloured) text_ += sequence_of(c);
    text_ += part;
    if (coloured) text_ += "\x1b[0m";
    return *this;
}

screen_line& screen_line::fill_to(std::uint32_t column) {
    column = std::min(column, width_);
    if (columns_ < column) text_.append(column - columns_, ' ');
    columns_ = std::max(columns_, column);
    return *this;
}

std::string screen_line::take() {
    text_.erase(text_.find_last_not_of(' ') + 1);
    return std::move(text_);
}

}  // namespace ration::program
