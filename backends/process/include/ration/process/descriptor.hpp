// SPDX-License-Identifier: BSL-1.0
/// Owned file descriptors, and errno as an error value. Used by all backends.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <ration/result.hpp>

namespace ration::process {

/// Owns one file descriptor, or none (-1). Move-only.
class descriptor {
    int value_ = -1;

public:
    /// No descriptor.
    constexpr descriptor() noexcept = default;
    /// Takes ownership of a descriptor.
    constexpr explicit descriptor(int value) noexcept : value_(value) {}
    /// Takes over the descriptor.
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    /// Closes the own descriptor and takes over the other.
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            value_ = std::exchange(other.value_, -1);
        }
        return *this;
    }
    /// Closes the descriptor.
    ~descriptor() noexcept { reset(); }

    /// The number, still owned; -1 if there is none.
    [[nodiscard]] int get() const noexcept { return value_; }
    /// True if there is a descriptor.
    [[nodiscard]] explicit operator bool() const noexcept { return value_ >= 0; }

    /// Closes the descriptor; errno is preserved, so that it can be called on a path of an error.
    void reset() noexcept {
        if (int const old = std::exchange(value_, -1); old >= 0) {
            int const saved = errno;
            ::close(old);
            errno = saved;
        }
    }
};

/// The error code of an errno for which a call has no special meaning.
[[nodiscard]] constexpr errc code_of(int system) noexcept {
    switch (system) {
        case EACCES:
        case EPERM: return errc::denied;
        case ENOENT:
        case ENOTDIR:
        case ESRCH: return errc::not_found;
        case ENOSYS:
        case EOPNOTSUPP: return errc::not_supported;
        case EAGAIN:
        case EMFILE:
        case ENFILE:
        case ENOMEM: return errc::limit;
        case EBUSY:
        case ETXTBSY: return errc::busy;
        case ENOEXEC:
        case EINVAL: return errc::invalid_value;
        case E2BIG: return errc::out_of_range;
        case ENODEV: return errc::gone;
        default: return errc::io;
    }
}

/// An error with the errno of the call that failed. `operation` and `remedy` are static text.
[[nodiscard]] inline error system_error(char const* operation, std::string_view subject, int system,
                                        char const* remedy) noexcept {
    return error{
        .code = code_of(system), .operation = operation, .subject = subject, .system = system, .remedy = remedy};
}

/// The remedy for the errno of a call on a path, which depends on the cause and not on the caller; `otherwise`, static
/// text, for an errno that has none.
[[nodiscard]] constexpr char const* remedy_for(int system, char const* otherwise) noexcept {
    switch (system) {
        case ENOSPC: return "free space or inodes on its disk: df -h, df -i";
        case EDQUOT: return "free some of the quota of its user: quota";
        case EMFILE: return "raise the limit on open files: ulimit -n";
        case ENFILE: return "the machine has no more open files: raise fs.file-max";
        case ENOMEM: return "free some memory of the machine";
        case EROFS: return "its file system is read-only: mount it for writing, or name a path elsewhere";
        case EACCES:
        case EPERM: return "give this user the rights to it and to the folders on its way: ls -ld";
        case ELOOP: return "a symbolic link on its way leads in a circle or is not followed: name the path without it";
        case ENOTDIR: return "a file is in its place or on its way: move that file";
        case ENAMETOOLONG: return "name a shorter path";
        case EIO: return "examine its disk: dmesg";
        default: return otherwise;
    }
}

/// An error of a call on a path, with the remedy for its errno.
[[nodiscard]] inline error path_error(char const* operation, std::string_view path, int system,
                                      char const* otherwise) noexcept {
    return system_error(operation, path, system, remedy_for(system, otherwise));
}

/// The same file with a number of 3 or above. In a program that was started with closed standard
/// streams, open(2) returns 0, 1 and 2; these are replaced in the child.
[[nodiscard]] inline descriptor above_standard(descriptor source) noexcept {
    if (source.get() > STDERR_FILENO || !source) return source;
    return descriptor(::fcntl(source.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace ration::process
