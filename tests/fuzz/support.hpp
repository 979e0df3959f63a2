// SPDX-License-Identifier: BSL-1.0
/// Helpers of the fuzz targets: an input taken apart front to back, and invariants that end the process when they are
/// broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

/// The entry point of a target: libFuzzer's, and that of replay.cpp.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace fuzz {

/// A number as bits, of which NaN equals itself.
[[nodiscard]] inline std::uint64_t bits_of(double value) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// Ends the process when an invariant is broken; libFuzzer then keeps the input.
inline void require(bool holds, char const* invariant) noexcept {
    if (holds) return;
    std::fprintf(stderr, "broken invariant: %s\n", invariant);
    std::abort();
}

/// The bytes of one input.
class input {
    std::string_view rest_;

public:
    input(std::uint8_t const* data, std::size_t size) noexcept : rest_(reinterpret_cast<char const*>(data), size) {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

    /// The next value in this machine's byte order; zeros where the input is too short.
    template <class T>
    [[nodiscard]] T take() noexcept {
        static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "any bytes have to be a value");
        T value{};
        std::size_t const size = rest_.size() < sizeof value ? rest_.size() : sizeof value;
        if (size > 0) std::memcpy(&value, rest_.data(), size);
        rest_.remove_prefix(size);
        return value;
    }
    /// Everything up to the next end of line, which is taken away with it.
    [[nodiscard]] std::string_view line() noexcept {
        auto const line = rest_.substr(0, rest_.find('\n'));
        rest_.remove_prefix(line.size() < rest_.size() ? line.size() + 1 : line.size());
        return line;
    }
};

/// The parts of a text between separators: one more than there are separators.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? text.size() : end + 1)) {
        end = text.find(separator);
        parts.push_back(text.substr(0, end));
    }
    return parts;
}

/// Whether `part` points into `whole`, or is empty.
[[nodiscard]] inline bool is_inside(std::string_view part, std::string_view whole) noexcept {
    auto const begin = reinterpret_cast<std::uintptr_t>(part.data()),
               first = reinterpret_cast<std::uintptr_t>(whole.data());
    return part.empty() || (begin >= first && begin + part.size() <= first + whole.size());
}

/// The length of the UTF-8 character in front, by the table of RFC 3629; 0 when there is none.
[[nodiscard]] inline std::size_t character_length(std::string_view text) noexcept {
    auto const at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    auto const follows = [&](std::size_t i, unsigned least = 0x80, unsigned most = 0xBF) {
        return at(i) >= least && at(i) <= most;
    };
    unsigned const first = at(0);
    if (first < 0x80) return text.empty() ? 0 : 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF)
        return follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
    if (first >= 0xF0 && first <= 0xF4)
        return follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
    return 0;
}

/// Whether a UTF-8 character turns the direction of the text around it: U+202A to U+202E, U+2066 to U+2069.
[[nodiscard]] inline bool turns_direction(std::string_view character) noexcept {
    bool const is_embedding = character >= "\xE2\x80\xAA" && character <= "\xE2\x80\xAE";
    return is_embedding || (character >= "\xE2\x81\xA6" && character <= "\xE2\x81\xA9");
}

/// Whether a terminal shows the text as one line: valid UTF-8 without control characters, in one direction.
[[nodiscard]] inline bool is_one_line(std::string_view text) noexcept {
    while (!text.empty()) {
        std::size_t const length = character_length(text);
        auto const first = static_cast<unsigned char>(text[0]);
        bool const is_c1 = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
        if (length == 0 || first < ' ' || first == 0x7f || is_c1 || turns_direction(text.substr(0, length)))
            return false;
        text.remove_prefix(length);
    }
    return true;
}

/// An error for people: not empty, one line, of bounded length.
inline void require_sentence(std::string_view text, std::size_t most = 2000) noexcept {
    require(!text.empty(), "an error has no text");
    require(is_one_line(text), "an error holds control characters or is not UTF-8");
    require(text.size() <= most, "an error has no bounded length");
}

}  // namespace fuzz
