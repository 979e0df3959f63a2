// SPDX-License-Identifier: BSL-1.0
#include "events/json_writer.hpp"

#include <algorithm>

namespace ration::program {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

[[nodiscard]] constexpr unsigned byte_at(std::string_view s, std::size_t i) noexcept {
    return static_cast<unsigned char>(s[i]);
}

void append_code_unit(std::string& out, std::uint32_t unit) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += hex[unit >> shift & 15];
}

void append_escaped(std::string& out, char c) {
    switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        default: append_code_unit(out, static_cast<unsigned char>(c));
    }
}

/// Of one UTF-8 character.
[[nodiscard]] constexpr std::uint32_t code_point(std::string_view character) noexcept {
    constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t point = byte_at(character, 0) & lead_bits[character.size()];
    for (std::size_t i = 1; i < character.size(); ++i) point = point << 6 | (byte_at(character, i) & 0x3F);
    return point;
}

/// "\u202e", or the two halves of a character above U+FFFF.
void append_code_units(std::string& out, std::uint32_t point) {
    if (point < 0x10000) return append_code_unit(out, point);
    append_code_unit(out, 0xD800 + (point - 0x10000) / 0x400);
    append_code_unit(out, 0xDC00 + (point - 0x10000) % 0x400);
}

[[nodiscard]] constexpr bool needs_escape(char c) noexcept {
    return static_cast<unsigned char>(c) < ' ' || c == '"' || c == '\\' || c == '\x7f';
}

}  // namespace

std::size_t utf8_length(std::string_view s) noexcept {
    if (s.empty()) return 0;
    unsigned const lead = byte_at(s, 0);
    if (lead < 0x80) return 1;
    std::size_t const length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte_at(s, i) & 0xC0) != 0x80) return 0;
    unsigned const second = byte_at(s, 1);
    bool const bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                     (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
    return bad ? 0 : length;
}

bool steers_text(std::string_view character) noexcept {
    struct range {
        std::uint32_t first, last;
    };
    constexpr range unsafe[] = {{0, 0x1F},         {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
                                {0x180E, 0x180E},  {0x200B, 0x200F}, {0x2028, 0x202E},   {0x2060, 0x206F},
                                {0xFEFF, 0xFEFF},  {0xFFF9, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
                                {0xE0000, 0xE007F}};
    auto const c = code_point(character);
    return std::ranges::any_of(unsafe, [c](range const& r) { return r.first <= c && c <= r.last; });
}

void json_writer::value(double d) {
    if (d != d) return value("nan");
    if (d - d != 0) return value(d > 0 ? "inf" : "-inf");
    comma();
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, d).ptr);
}

void json_writer::steering_character(std::string_view character) {
    if (steering_ == steering_text::replaced)
        out_ += '?';
    else
        append_code_units(out_, code_point(character));
}

void json_writer::text(std::string_view s) {
    out_ += '"';
    while (!s.empty()) {
        std::size_t const length = utf8_length(s);
        if (length == 0)
            out_ += replacement;
        else if (length == 1 && needs_escape(s.front()))
            append_escaped(out_, s.front());
        else if (length > 1 && steers_text(s.substr(0, length)))
            steering_character(s.substr(0, length));
        else
            out_ += s.substr(0, length);
        s.remove_prefix(length == 0 ? 1 : length);
    }
    out_ += '"';
}

}  // namespace ration::program
