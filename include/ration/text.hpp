// SPDX-License-Identifier: BSL-1.0
/// Bounded text: a string that never allocates and never throws.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ration {

/// At most `Capacity` characters held in place; what does not fit is cut off and the last character becomes '~'.
template <std::size_t Capacity>
class text {
    std::array<char, Capacity + 1> characters_{};
    std::size_t size_ = 0;

public:
    constexpr text() noexcept = default;
    constexpr text(std::string_view source) noexcept { append(source); }
    constexpr text(char const* source) noexcept : text(std::string_view(source)) {}

    constexpr text& append(std::string_view more) noexcept {
        for (char const c : more) {
            if (size_ == Capacity) {
                characters_[Capacity - 1] = '~';
                break;
            }
            characters_[size_++] = c;
        }
        return *this;
    }

    /// The characters, followed by a zero byte.
    [[nodiscard]] constexpr char const* c_str() const noexcept { return characters_.data(); }
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters_.data(), size_}; }
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr operator std::string_view() const noexcept { return view(); }

    friend constexpr bool operator==(text const& a, text const& b) noexcept { return a.view() == b.view(); }
    friend constexpr bool operator==(text const& a, std::string_view b) noexcept { return a.view() == b; }
    friend constexpr bool operator==(text const& a, char const* b) noexcept { return a.view() == b; }
};

}  // namespace ration
