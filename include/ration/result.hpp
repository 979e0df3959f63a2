// SPDX-License-Identifier: BSL-1.0
/// Errors as data: a code, the operation that failed, its subject, errno and the remedy.
///
/// Used by every function that can fail because of outside input; broken preconditions are
/// assertions instead (assert.hpp). Nothing here allocates or throws. The program turns an `error`
/// into text where it prints it.
///
/// Example:
/// ~~~{.cpp}
/// ration::result<int> half(int n) {
///     if (n % 2 != 0) return ration::error{.code = ration::errc::invalid_value, .operation = "halve"};
///     return n / 2;
/// }
/// if (auto const h = half(6)) use(*h);
/// ~~~
#pragma once

#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ration/assert.hpp>
#include <ration/text.hpp>

namespace ration {

/// The kind of a failure. Callers branch on it; the text is for people.
enum class errc : std::uint8_t {
    invalid_value = 1,   ///< the value can never be right (EINVAL)
    out_of_range,        ///< right kind of value, beyond a bound (ERANGE)
    not_found,           ///< the named object does not exist
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

/// The code in words, as messages print it.
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
/// Callers branch on `code`; the other members are for the message.
struct error {
    errc code = errc::internal;
    char const* operation = "";  ///< static text: "write cpu.max"
    text<120> subject{};         ///< what it was done to: a path, a job's name, a column
    int system = 0;              ///< errno, or 0 if no system call failed
    char const* remedy = "";     ///< static text, in the imperative; or empty
};

/// Either a value or an error, as std::expected, which the oldest supported compilers do not have.
template <class T, class E = error>
class [[nodiscard]] result {
    union {
        T value_;
        E failure_;
    };
    bool ok_;

public:
    /// The type of the value.
    using value_type = T;
    using error_type = E;

    /// A success. Implicit, so that functions can return the value.
    result(T value) noexcept : value_(std::move(value)), ok_(true) {}
    /// A failure. Implicit, so that functions can return the error.
    result(E failure) noexcept : failure_(std::move(failure)), ok_(false) {}
    result(result const& other) noexcept
        requires(std::is_copy_constructible_v<T>)
        : ok_(other.ok_) {
        if (ok_)
            ::new (static_cast<void*>(&value_)) T(other.value_);
        else
            ::new (static_cast<void*>(&failure_)) E(other.failure_);
    }
    /// Moves the value or the error; the source keeps a moved-from one.
    result(result&& other) noexcept : ok_(other.ok_) { take(other); }
    /// Replaces the content.
    result& operator=(result other) noexcept {
        end();
        ok_ = other.ok_;
        take(other);
        return *this;
    }
    /// Destroys the value, if there is one.
    ~result() { end(); }

    /// True if it holds a value.
    [[nodiscard]] explicit operator bool() const noexcept { return ok_; }

    /// The value. Precondition: holds a value; otherwise the program ends.
    [[nodiscard]] T& value() & noexcept { return *checked_value(this); }
    /// The same, read-only.
    [[nodiscard]] T const& value() const& noexcept { return *checked_value(this); }
    /// The same, to move it out.
    [[nodiscard]] T&& value() && noexcept { return std::move(*checked_value(this)); }
    /// As `value()`.
    [[nodiscard]] T& operator*() & noexcept { return value(); }
    /// As `value()`.
    [[nodiscard]] T const& operator*() const& noexcept { return value(); }
    /// As `value()`.
    [[nodiscard]] T&& operator*() && noexcept { return std::move(value()); }
    /// A member of the value, under the same precondition.
    [[nodiscard]] T* operator->() noexcept { return &value(); }
    /// A member of the value, under the same precondition.
    [[nodiscard]] T const* operator->() const noexcept { return &value(); }

    /// The error. Precondition: holds an error; otherwise the program ends.
    [[nodiscard]] E const& failure() const noexcept {
        RATION_ASSERT(!ok_, "result: asked for the error of a success");
        return failure_;
    }

    /// The value, or `other` after a failure.
    [[nodiscard]] T value_or(T const& other) const& noexcept { return ok_ ? value_ : other; }

private:
    template <class Self>
    [[nodiscard]] static auto checked_value(Self* self) noexcept {
        RATION_ASSERT(self->ok_, "result: asked for the value of a failure");
        return &self->value_;
    }

    // Constructs from the same alternative of `other`. Precondition: `ok_` is set, nothing is
    // constructed yet.
    void take(result& other) noexcept {
        if (ok_)
            ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
        else
            ::new (static_cast<void*>(&failure_)) E(std::move(other.failure_));
    }

    void end() noexcept {
        if (ok_)
            value_.~T();
        else
            failure_.~E();
    }
};

/// Success without a value, or an error.
template <class E>
class [[nodiscard]] result<void, E> {
    E failure_{};
    bool ok_ = true;

public:
    /// The type of the value.
    using value_type = void;
    using error_type = E;

    /// A success.
    constexpr result() noexcept = default;
    /// A failure. Implicit, so that functions can return the error.
    constexpr result(E failure) noexcept : failure_(std::move(failure)), ok_(false) {}

    /// True after a success.
    [[nodiscard]] constexpr explicit operator bool() const noexcept { return ok_; }
    /// The error. Precondition: holds an error; otherwise the program ends.
    [[nodiscard]] constexpr E const& failure() const noexcept {
        RATION_ASSERT(!ok_, "result: asked for the error of a success");
        return failure_;
    }
};

/// The outcome of one call of a policy. The numbers are those of the plugin ABI; every value but
/// `ok` rejects the answer.
enum class [[nodiscard]] status : std::int32_t {
    ok = 0,
    capacity = -1,  ///< the grant buffer is too small
    /// An argument or a column has a value that the policy cannot use.
    argument = -2,
    /// Saved state that cannot be loaded, or a call in the wrong order.
    state = -3,
    /// The policy does not have the optional function, or its host lacks a resource that it needs.
    unsupported = -4,
    /// An allocation failed.
    no_memory = -5,
    /// The policy stopped because its time budget was spent.
    deadline = -6,
    /// The policy threw an exception, which the boundary caught.
    exception = -7,
    /// A bug in the policy.
    internal = -8,
};

}  // namespace ration
