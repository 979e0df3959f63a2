// SPDX-License-Identifier: BSL-1.0
/// The standard output and error of a job: a file on disk, read as it grows.
#pragma once

#include <cstddef>
#include <cstdint>
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
    /// Whether the file ends where a buffer of its writer can have ended.
    [[nodiscard]] bool ends_with_buffer() const noexcept;
};

/// Programs write their output in buffers of whole pages: a process that ends without its last one leaves half a line.
[[nodiscard]] constexpr bool is_end_of_buffer(std::uint64_t size) noexcept { return size % 4096 == 0; }

/// The last line of a file that is not empty, without control characters, at most 160 bytes. For "why did it end".
[[nodiscard]] std::string last_line(std::string const& path);

}  // namespace ration::program
