// SPDX-License-Identifier: BSL-1.0
/// Errors are data: a code, the operation that failed, its subject, the system's errno and the remedy. Text is made at
/// the edge.
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/assert.hpp>
#include <ration/text.hpp>

namespace ration {

enum class errc : std::uint8_t {
    invalid_value = 1,   ///< the value can never be right (EINVAL)
    out_of_range,        ///< right kind of value, beyond a bound (ERANGE)
    not_found,           ///< the thing named does not exist
    already_exists,      ///< the name is taken
    not_supported,       ///< this machine, kernel or build has no such ability
    denied,              ///< not permitted to this user (EACCES, EPERM)
    busy,                ///< would work after a retry (EBUSY right after a move)
    conflict,            ///< contradicts another setting, e.g. a child above its parent
    empty_set,           ///< the group has no usable cpus or memory nodes (ENOSPC)
    limit,               ///< a kernel limit on how many (EAGAIN)
    gone,                ///< was there and has been removed (ENODEV, ENOENT on a held group)
    namespace_mismatch,  ///< the mount shows another cgroup namespace: paths cannot be mapped
    timed_out,           ///< a deadline passed
    unverified,          ///< written without an error, read back different
    no_capacity,         ///< more than there is
    io,                  ///< any other system error
    internal,            ///< a bug in ration
    no_memory,           ///< this process or the kernel has no memory left (ENOMEM)
};

[[nodiscard]] constexpr std::string_view name_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_value: return "invalid value";
        case errc::out_of_range: return "out of range";
        case errc::not_found: return "not found";
        case errc::already_exists: return "already exists";
        case errc::not_supported: return "not supported";
        case errc::denied: return "permission denied";
        case errc::busy: return "busy";
        case errc::conflict: return "conflict";
        case errc::empty_set: return "empty set";
        case errc::limit: return "limit reached";
        case errc::gone: return "gone";
        case errc::namespace_mismatch: return "cgroup namespace mismatch";
        case errc::timed_out: return "timed out";
        case errc::unverified: return "not what was written";
        case errc::no_capacity: return "no capacity";
        case errc::io: return "input/output error";
        case errc::internal: return "internal error";
        case errc::no_memory: return "out of memory";
    }
    return "unknown error";
}

/// A failure: its kind, the operation and its object, the error number of the system, and the remedy.
struct error {
    errc code = errc::internal;
    char const* operation = "";  ///< static text: "write cpu.max"
    text<120> subject{};         ///< what it was done to: a path, a job's name, a column
    int system = 0;              ///< errno, or 0
    char const* remedy = "";     ///< static text: what to do next, or empty
};

/// Either a value or an error. Like std::expected, which the compilers at our floor do not have.
template <class T>
class [[nodiscard]] result {
    union {
        T value_;
        error failure_;
    };
    bool ok_;

public:
    using value_type = T;

    result(T value) noexcept : value_(std::move(value)), ok_(true) {}
    result(error failure) noexcept : failure_(failure), ok_(false) {}
    result(result const& other) noexcept
        requires(std::is_copy_constructible_v<T>)
        : ok_(other.ok_) {
        if (ok_)
            ::new (static_cast<void*>(&value_)) T(other.value_);
        else
            ::new (static_cast<void*>(&failure_)) error(other.failure_);
    }
    result(result&& other) noexcept : ok_(other.ok_) { take(other); }
    result& operator=(result other) noexcept {
        end();
        ok_ = other.ok_;
        take(other);
        return *this;
    }
    ~result() { end(); }

    [[nodiscard]] explicit operator bool() const noexcept { return ok_; }

    /// Precondition: holds a value.
    [[nodiscard]] T& value() & noexcept { return *checked_value(this); }
    [[nodiscard]] T const& value() const& noexcept { return *checked_value(this); }
    [[nodiscard]] T&& value() && noexcept { return std::move(*checked_value(this)); }
    [[nodiscard]] T& operator*() & noexcept { return value(); }
    [[nodiscard]] T const& operator*() const& noexcept { return value(); }
    [[nodiscard]] T&& operator*() && noexcept { return std::move(value()); }
    [[nodiscard]] T* operator->() noexcept { return &value(); }
    [[nodiscard]] T const* operator->() const noexcept { return &value(); }

    /// Precondition: holds an error.
    [[nodiscard]] error const& failure() const noexcept {
        RATION_ASSERT(!ok_, "result: asked for the error of a success");
        return failure_;
    }

    [[nodiscard]] T value_or(T other) const& noexcept { return ok_ ? value_ : other; }

private:
    template <class Self>
    [[nodiscard]] static auto checked_value(Self* self) noexcept {
        RATION_ASSERT(self->ok_, "result: asked for the value of a failure");
        return &self->value_;
    }

    void take(result& other) noexcept {
        if (ok_)
            ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
        else
            ::new (static_cast<void*>(&failure_)) error(other.failure_);
    }

    void end() noexcept {
        if (ok_) value_.~T();
    }
};

/// Success without a value, or an error.
template <>
class [[nodiscard]] result<void> {
    error failure_{};
    bool ok_ = true;

public:
    using value_type = void;

    constexpr result() noexcept = default;
    constexpr result(error failure) noexcept : failure_(failure), ok_(false) {}

    [[nodiscard]] constexpr explicit operator bool() const noexcept { return ok_; }
    [[nodiscard]] constexpr error const& failure() const noexcept {
        RATION_ASSERT(!ok_, "result: asked for the error of a success");
        return failure_;
    }
};

/// What a policy says of its own tick. The numbers are those of the plugin ABI.
enum class [[nodiscard]] status : std::int32_t {
    ok = 0,
    capacity = -1,  ///< the grant buffer is too small
    argument = -2,
    state = -3,
    unsupported = -4,
    no_memory = -5,
    deadline = -6,
    exception = -7,
    internal = -8,
};

}  // namespace ration
