// SPDX-License-Identifier: BSL-1.0
#include "events/json_writer.hpp"

namespace ration::program {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

[[nodiscard]] constexpr unsigned byte_at(std::string_view s, std::size_t i) noexcept { return static_cast<unsigned char>(s[i]); }

void append_escaped(std::string& out, char c) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        default:
            out += "\\u00";
            out += hex[static_cast<unsigned char>(c) >> 4];
            out += hex[static_cast<unsigned char>(c) & 15];
    }
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
    bool const bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
                     (lead == 0xF4 && second > 0x8F);
    return bad ? 0 : length;
}

void json_writer::value(double d) {
    if (d != d) return value("nan");
    if (d - d != 0) return value(d > 0 ? "inf" : "-inf");
    comma();
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, d).ptr);
}

void json_writer::text(std::string_view s) {
    out_ += '"';
    while (!s.empty()) {
        std::size_t const length = utf8_length(s);
        if (length == 0)
            out_ += replacement;
        else if (length == 1 && needs_escape(s.front()))
            append_escaped(out_, s.front());
        else
            out_ += s.substr(0, length);
        s.remove_prefix(length == 0 ? 1 : length);
    }
    out_ += '"';
}

}  // namespace ration::program
