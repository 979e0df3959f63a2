// SPDX-License-Identifier: BSL-1.0
#include "events/json_writer.hpp"

#include "common/utf8.hpp"

namespace ration::program {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

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
