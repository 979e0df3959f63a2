// SPDX-License-Identifier: BSL-1.0
/// Bounded text: a string that never allocates and never throws.
///
/// Used for names and for subjects of errors, which are copied on the tick, where nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ration {

/// At most `Capacity` characters, held in place. Longer text is cut off and its last character
/// becomes '~'.
template <std::size_t Capacity>
class text {
    std::array<char, Capacity + 1> characters_{};
    std::size_t size_ = 0;

public:
    /// Empty text.
    constexpr text() noexcept = default;
    /// A copy of `source`, as far as it fits.
    constexpr text(std::string_view source) noexcept { append(source); }
    /// A copy of a zero-terminated string. Implicit, so that literals can be passed.
    constexpr text(char const* source) noexcept : text(std::string_view(source)) {}

    /// Appends characters as far as they fit, and returns the object. O(characters).
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

    /// The characters, followed by a zero byte. Valid as long as the object is.
    [[nodiscard]] constexpr char const* c_str() const noexcept { return characters_.data(); }
    /// The characters without the zero byte.
    [[nodiscard]] constexpr std::string_view view() const noexcept { return {characters_.data(), size_}; }
    /// True without characters.
    [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
    /// As `view()`; implicit, since functions take views.
    constexpr operator std::string_view() const noexcept { return view(); }

    /// Compares the characters; the capacity of both is the same.
    friend constexpr bool operator==(text const& a, text const& b) noexcept { return a.view() == b.view(); }
    /// Compares with other text.
    friend constexpr bool operator==(text const& a, std::string_view b) noexcept { return a.view() == b; }
    /// Compares with a literal, which would otherwise be ambiguous.
    friend constexpr bool operator==(text const& a, char const* b) noexcept { return a.view() == b; }
};

}  // namespace ration
