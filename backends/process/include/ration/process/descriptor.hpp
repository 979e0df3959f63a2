// SPDX-License-Identifier: BSL-1.0
/// File descriptors with an owner, and errno as an error value.
#pragma once

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <ration/result.hpp>

namespace ration::process {

/// Owns one file descriptor, or none (-1).
class descriptor {
    int value_ = -1;

public:
    constexpr descriptor() noexcept = default;
    constexpr explicit descriptor(int value) noexcept : value_(value) {}
    descriptor(descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            value_ = std::exchange(other.value_, -1);
        }
        return *this;
    }
    ~descriptor() noexcept { reset(); }

    [[nodiscard]] int get() const noexcept { return value_; }
    [[nodiscard]] explicit operator bool() const noexcept { return value_ >= 0; }

    void reset() noexcept {
        if (int const old = std::exchange(value_, -1); old >= 0) {
            int const saved = errno;
            ::close(old);
            errno = saved;
        }
    }
};

/// The code for an errno where the call has no meaning of its own for it.
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

/// An error that carries the errno of the call which just failed. `operation` and `remedy` are static text.
[[nodiscard]] inline error system_error(char const* operation, std::string_view subject, int system,
                                        char const* remedy) noexcept {
    return error{
        .code = code_of(system), .operation = operation, .subject = subject, .system = system, .remedy = remedy};
}

/// The same descriptor, numbered 3 or above. A program that was started with its standard streams closed gets 0, 1 and
/// 2 from open(2), and those numbers are about to be replaced in the child.
[[nodiscard]] inline descriptor above_standard(descriptor source) noexcept {
    if (source.get() > STDERR_FILENO || !source) return source;
    return descriptor(::fcntl(source.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

}  // namespace ration::process
