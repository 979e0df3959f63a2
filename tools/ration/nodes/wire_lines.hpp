// SPDX-License-Identifier: BSL-1.0
/// Splits the bytes of a conversation between a controller and a node into lines.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ration::program {

/// Bytes of one message, without its newline.
inline constexpr std::size_t most_message_bytes = std::size_t{64} << 10;

struct wire_line {
    std::string text;
    bool too_long = false;  ///< `text` is empty, and the rest up to the next newline is skipped
};

/// Keeps at most one line and the bytes of the last `feed`, however long a line is.
class wire_lines {
    std::string held_;
    bool skips_ = false;

public:
    void feed(std::string_view bytes);
    /// The next complete line, or a line that is already too long.
    [[nodiscard]] std::optional<wire_line> next();
    /// Whether a line has begun that has no newline yet. At the end of the input it was cut.
    [[nodiscard]] bool in_a_line() const noexcept { return skips_ || !held_.empty(); }
};

}  // namespace ration::program
