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
    std::size_t taken_ = 0;  // bytes of the buffer

public:
    /// Begins at the file's present start. Errors: as of open(2).
    [[nodiscard]] result<void> open(std::string path);
    [[nodiscard]] std::string const& path() const noexcept { return path_; }

    /// The next bytes that were not taken, at most 64 KiB; valid until the next call.
    [[nodiscard]] std::string_view read();
    /// The first bytes that `read` returned are done with.
    void take(std::size_t bytes) noexcept { taken_ += bytes; }
    /// Bytes up to the present end of the file.
    [[nodiscard]] std::uint64_t unread() const noexcept;
    /// Moves on until at most this many bytes are unread. The first line may then be a part of one. Returns the number
    /// of bytes that it skipped.
    std::uint64_t skip_to_last(std::uint64_t bytes) noexcept;
    /// Whether the file ends where a buffer of its writer can have ended.
    [[nodiscard]] bool ends_with_buffer() const noexcept;
};

/// Programs write their output in buffers of whole pages: a process that ends without its last one leaves half a line.
[[nodiscard]] constexpr bool is_end_of_buffer(std::uint64_t size) noexcept { return size % 4096 == 0; }

/// The last line of a file that is not empty, without control characters, at most 160 bytes. For "why did it end".
[[nodiscard]] std::string last_line(std::string const& path);

}  // namespace ration::program
