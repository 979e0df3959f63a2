// SPDX-License-Identifier: BSL-1.0
/// The lines of a stream as a terminal shows them. Bytes in, lines out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ration::progress {

/// Splits bytes, in pieces of any size, into the lines that a terminal would show, without escape
/// sequences. A line ends with a newline, or with the carriage return or backspace with which a
/// progress bar redraws itself.
class line_reader {
public:
    static constexpr std::size_t max_line = 4096;  ///< bytes

    line_reader() noexcept = default;
    /// Lines over `longest` bytes are cut off.
    explicit line_reader(std::size_t longest) noexcept : longest_(longest) {}

    /// Adds a byte. Returns true if it ended a line, which is in `line()` until the next call.
    [[nodiscard]] bool put(char byte) noexcept {
        if (ended_) {
            redraws_ = next_redraws_;
            line_.clear();
            overlong_ = ended_ = false;
        }
        if (byte == '\n' || byte == '\r' || byte == '\b') {
            state_ =
                state::plain;  // an escape sequence does not span lines: a broken one must not hide the rest of the log
            leave(byte);
            return ended_ = true;
        }
        if (skips(byte)) return false;
        if (line_.size() < longest_)
            line_ += byte;
        else
            overlong_ = true;
        return false;
    }

    /// The last line.
    [[nodiscard]] std::string_view line() const noexcept { return line_; }
    /// True if the line was cut off.
    [[nodiscard]] bool overlong() const noexcept { return overlong_; }
    /// True if a terminal shows the line in the place of an earlier one: no newline ended that, or the cursor went up.
    [[nodiscard]] bool redraws() const noexcept { return redraws_; }

private:
    enum class state : std::uint8_t { plain, escape, control, string, string_escape };

    static constexpr std::uint32_t most_raised = 1000;

    /// Follows the cursor over the end of a line. A line that shows nothing leaves the place as it was.
    void leave(char end) noexcept {
        if (end == '\n') {
            next_redraws_ = raised_ > 0;
            raised_ -= raised_ > 0 ? 1 : 0;
        } else {
            next_redraws_ = redraws_ || line_.find_first_not_of(" \t") != std::string::npos;
        }
    }

    /// Takes the next character of ESC [ ... letter. Bars below one another go up by the letters A and F.
    void take_control(char byte) noexcept {
        if (byte >= '0' && byte <= '9')
            parameter_ = std::min(10 * parameter_ + static_cast<std::uint32_t>(byte - '0'), most_raised);
        if (byte < '@' || byte > '~') return;
        if (byte == 'A' || byte == 'F') raised_ = std::min(raised_ + std::max(parameter_, 1U), most_raised);
        state_ = state::plain;
    }

    /// Skips escape sequences of ECMA-48: ESC [ ... letter; ESC ] ... until BEL or ESC \; ESC and
    /// one character.
    [[nodiscard]] bool skips(char byte) noexcept {
        switch (state_) {
            case state::plain:
                state_ = byte == '\x1b' ? state::escape : state::plain;
                return static_cast<unsigned char>(byte) < ' ' && byte != '\t';
            case state::escape:
                parameter_ = 0;
                state_ = byte == '['                                                               ? state::control
                         : byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_' ? state::string
                         : byte >= ' ' && byte <= '/'                                              ? state::escape
                                                                                                   : state::plain;
                return true;
            case state::control: take_control(byte); return true;
            case state::string:
                state_ = byte == '\a' ? state::plain : byte == '\x1b' ? state::string_escape : state::string;
                return true;
            case state::string_escape: state_ = byte == '\\' ? state::plain : state::string; return true;
        }
        return false;
    }

    std::size_t longest_ = max_line;
    std::string line_;
    state state_ = state::plain;
    std::uint32_t raised_ = 0;  ///< lines of the cursor above the last one
    std::uint32_t parameter_ = 0;
    bool ended_ = false;
    bool overlong_ = false;
    bool redraws_ = false, next_redraws_ = false;
};

}  // namespace ration::progress
