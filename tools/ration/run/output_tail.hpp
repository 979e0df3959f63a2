// SPDX-License-Identifier: BSL-1.0
/// The standard output and error of a job: a file on disk, read as it grows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::program {

/// Follows a file that another process appends to.
class output_tail {
    std::string path_;
    process::descriptor file_;
    std::string buffer_;

public:
    /// Begins at the file's present start. Errors: as of open(2).
    [[nodiscard]] result<void> open(std::string path);
    [[nodiscard]] std::string const& path() const noexcept { return path_; }

    /// The bytes since the last call, at most 64 KiB; valid until the next one.
    [[nodiscard]] std::string_view read();
};

/// The last line of a file that is not empty, without control characters, at most 160 bytes. For "why did it end".
[[nodiscard]] std::string last_line(std::string const& path);

}  // namespace ration::program
