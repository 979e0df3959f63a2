// SPDX-License-Identifier: BSL-1.0
/// Opens input files so that a pipe cannot block the caller, and a device cannot fill its memory.
/// Sources: open(2), fifo(7), inode(7).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <sys/stat.h>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

namespace ration::process {

/// Requirements on an input file. The texts are static and become parts of errors.
struct input_rules {
    char const* remedy = "";  ///< as in "name a file with a trace"
    /// A larger file is refused.
    std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max();
    char const* too_large = "";  ///< the cause of the error, as in "is larger than 1 GiB"
};

namespace detail {

/// The cause of the error for a file of this type; nullptr for a regular file.
[[nodiscard]] inline char const* problem_with_type(mode_t mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG: return nullptr;
        case S_IFDIR: return "is a folder";
        case S_IFIFO: return "is a pipe";
        default: return "is a device";
    }
}

/// An error with the cause of a failed call.
[[nodiscard]] inline error input_error(char const* cause, std::string_view path, int system,
                                       input_rules const& rules) noexcept {
    return system_error(cause, path, system, rules.remedy);
}

/// An error with a code that no errno has.
[[nodiscard]] inline error refusal(errc code, char const* cause, std::string_view path,
                                   input_rules const& rules) noexcept {
    error out = input_error(cause, path, 0, rules);
    out.code = code;
    return out;
}

}  // namespace detail

/// Opens a regular file for reading without blocking; symbolic links are followed. The `operation`
/// of an error is its cause, such as "cannot be opened". Errors: `invalid_value` (a folder, a pipe,
/// a device), `out_of_range` (too large), those of open(2).
[[nodiscard]] inline result<descriptor> open_input(std::string const& path, input_rules const& rules) noexcept {
    // Without O_NONBLOCK the call waits for a writer if the file is a pipe. For a regular file the
    // flag has no effect.
    descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about{};
    if (!file || ::fstat(file.get(), &about) != 0) return detail::input_error("cannot be opened", path, errno, rules);
    if (char const* const problem = detail::problem_with_type(about.st_mode))
        return detail::refusal(errc::invalid_value, problem, path, rules);
    if (static_cast<std::uint64_t>(about.st_size) > rules.most_bytes)
        return detail::refusal(errc::out_of_range, rules.too_large, path, rules);
    return file;
}

/// Reads at most `most` bytes at the file's offset; returns 0 at its end. Errors: those of read(2).
[[nodiscard]] inline result<std::size_t> read_next(descriptor const& file, char* into, std::size_t most) noexcept {
    for (;;) {
        ssize_t const got = ::read(file.get(), into, most);
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return system_error("cannot be read", {}, errno, "");
    }
}

/// Reads at most `most` bytes from `offset` on, and leaves the file's own offset; returns 0 at its end. Several threads
/// can read one file. Errors: those of pread(2).
[[nodiscard]] inline result<std::size_t> read_at(descriptor const& file, std::uint64_t offset, char* into,
                                                 std::size_t most) noexcept {
    for (;;) {
        ssize_t const got = ::pread(file.get(), into, most, static_cast<off_t>(offset));
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return system_error("cannot be read", {}, errno, "");
    }
}

/// Reads a regular file. The file can grow while it is read: at most `most_bytes` and one more are
/// held. Errors: those of `open_input` and of read(2).
[[nodiscard]] inline result<std::string> read_input(std::string const& path, input_rules const& rules) {
    constexpr std::size_t first_size = 1 << 16;
    auto const file = open_input(path, rules);
    if (!file) return file.failure();
    std::string text;
    for (std::size_t filled = 0;;) {
        if (filled == text.size()) text.resize(std::max(first_size, 2 * filled));
        auto const got = read_next(*file, text.data() + filled, text.size() - filled);
        if (!got) return detail::input_error(got.failure().operation, path, got.failure().system, rules);
        filled += *got;
        if (filled > rules.most_bytes) return detail::refusal(errc::out_of_range, rules.too_large, path, rules);
        if (*got == 0) {
            text.resize(filled);
            return text;
        }
    }
}

/// An error of an input as text without the path, as in "cannot be opened (No such file or
/// directory); name a file with a trace". `subject` may contain the path cut off.
[[nodiscard]] inline std::string input_sentence(error const& why) {
    std::string text = why.operation;
    if (why.system != 0) text += std::string(" (") + std::strerror(why.system) + ')';
    return text + "; " + why.remedy;
}

}  // namespace ration::process
