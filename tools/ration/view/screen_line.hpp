// SPDX-License-Identifier: BSL-1.0
/// One line of a screen, never wider than the screen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "view/view.hpp"

namespace ration::program {

enum class colour : std::uint8_t { none, dim, red, green, yellow, blue };

/// How many columns the text takes: one for each character.
[[nodiscard]] std::uint32_t columns_of(std::string_view text) noexcept;

/// The first `columns` columns of the text.
[[nodiscard]] std::string_view first_columns(std::string_view text, std::uint32_t columns) noexcept;

/// The text made safe for a terminal (no control characters, valid UTF-8 or, without `unicode`, ASCII), not wider than
/// `columns`: a longer one ends in '~'.
[[nodiscard]] std::string fitted(std::string_view text, std::uint32_t columns, bool unicode);

/// Appends to a line until it is full; what is beyond is cut off.
class screen_line {
    std::string text_;
    std::uint32_t columns_ = 0, width_;
    bool colours_;

public:
    screen_line(std::uint32_t width, view_style style) noexcept : width_(width), colours_(style.colour) {}

    screen_line& add(std::string_view text, colour c = colour::none);
    /// Blanks up to this column; none if the line is there already.
    screen_line& fill_to(std::uint32_t column);
    /// The line, without blanks at its end and without newline.
    [[nodiscard]] std::string take();
};

}  // namespace ration::program
