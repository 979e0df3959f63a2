// SPDX-License-Identifier: BSL-1.0
/// One end of a conversation: lines from a descriptor, and lines to another one. It never waits.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>

#include "nodes/wire_lines.hpp"

namespace ration::program {

class wire_channel {
    process::descriptor in_, out_;
    wire_lines lines_;
    std::string unsent_;
    bool at_end_ = false, broken_ = false;

public:
    /// Both become non-blocking.
    wire_channel(process::descriptor in, process::descriptor out);

    /// Reads what is there. After the end of the input, `at_end` is true.
    void fill();
    [[nodiscard]] std::optional<wire_line> next() { return lines_.next(); }
    /// The input has ended. Lines that came before it are still returned.
    [[nodiscard]] bool at_end() const noexcept { return at_end_; }
    [[nodiscard]] bool was_cut() const noexcept { return at_end_ && lines_.in_a_line(); }

    /// False: the other side has not read for long, and the line is dropped.
    bool send(std::string_view line);
    /// Writes what the other side takes now.
    void flush();
    [[nodiscard]] bool has_unsent() const noexcept { return !broken_ && !unsent_.empty(); }
    /// Waits a moment until the other side has read everything.
    void drain();

    [[nodiscard]] int input() const noexcept { return in_.get(); }
    [[nodiscard]] int output() const noexcept { return out_.get(); }
};

}  // namespace ration::program
