// SPDX-License-Identifier: BSL-1.0
#include "common/utf8.hpp"

#include <algorithm>

namespace ration::program {

namespace {

[[nodiscard]] constexpr unsigned byte_at(std::string_view s, std::size_t i) noexcept {
    return static_cast<unsigned char>(s[i]);
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

std::uint32_t code_point(std::string_view character) noexcept {
    constexpr unsigned lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t point = byte_at(character, 0) & lead_bits[character.size()];
    for (std::size_t i = 1; i < character.size(); ++i) point = point << 6 | (byte_at(character, i) & 0x3F);
    return point;
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

}  // namespace ration::program
