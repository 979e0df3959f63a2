// SPDX-License-Identifier: BSL-1.0
/// The lines of a client, as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Reads line by line, and keeps no more than `most` bytes of a line.
class request_lines {
    process::descriptor file_;
    std::size_t most_;
    std::string held_;      // read, and not yet returned
    std::size_t done_ = 0;  // of `held_`: returned
    bool at_end_ = false, skips_ = false;

public:
    /// `file` may be a pipe.
    request_lines(process::descriptor file, std::size_t most);

    enum class outcome : std::uint8_t { line, too_long, end };
    /// The next line, without its newline; valid until the next call. The last one need not end in a newline. Errors:
    /// those of read(2).
    [[nodiscard]] result<outcome> next(std::string_view& line);

private:
    [[nodiscard]] result<void> fill();
};

}  // namespace ration::program
