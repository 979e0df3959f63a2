// SPDX-License-Identifier: BSL-1.0
/// Saved state: plain values, one after the other, in memory that the caller owns.
///
/// Used by `save` and `load` of policies (policy.hpp) and by `job_memory`. A struct of plain values
/// has a static `fields(self)` that ties its members, and `sane()`, which validates values that
/// come from outside.
///
/// Example:
/// ~~~{.cpp}
/// struct memory {
///     double mean = 0;
///     std::uint64_t count = 0;
///     static auto fields(auto& self) { return std::tie(self.mean, self.count); }
///     bool sane() const { return mean >= 0; }
/// };
/// ~~~
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

#include <ration/units.hpp>

namespace ration {

/// Writes values while there is space, and counts the bytes that all of them need. So one function
/// can both measure and save.
class state_writer {
    std::span<std::byte> space_;
    std::size_t needed_ = 0;

public:
    /// Writes into `space`, which has to outlive the writer.
    explicit state_writer(std::span<std::byte> space) noexcept : space_(space) {}

    /// Appends a value: its `fields` one by one, or its bytes.
    template <class T>
    void put(T const& value) noexcept {
        if constexpr (requires { T::fields(value); })
            std::apply([&](auto const&... field) { (put(field), ...); }, T::fields(value));
        else
            put_plain(value);
    }

    /// The same for each value of an array.
    template <class T, std::size_t N>
    void put(std::array<T, N> const& values) noexcept {
        for (auto const& value : values) put(value);
    }

    /// The number of bytes of all values. If it exceeds the space, the content of the space is
    /// useless.
    [[nodiscard]] std::size_t needed() const noexcept { return needed_; }

private:
    template <class T>
    void put_plain(T const& value) noexcept {
        static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                      "ration: a value with padding has unspecified bytes: put its members one by one");
        if (needed_ + sizeof(T) <= space_.size()) std::memcpy(space_.data() + needed_, &value, sizeof(T));
        needed_ += sizeof(T);
    }
};

/// Reads the values that a `state_writer` wrote. The bytes are not trusted: after one failed read,
/// all further reads fail.
class state_reader {
    std::byte const* at_;
    std::size_t left_;
    bool good_ = true;

public:
    /// Reads from `saved`, which has to outlive the reader.
    explicit state_reader(std::span<std::byte const> saved) noexcept : at_(saved.data()), left_(saved.size()) {}

    /// Reads a value. Returns false if bytes are missing, or if `sane()` of the value is false.
    template <class T>
    [[nodiscard]] bool get(T& value) noexcept {
        if constexpr (requires { T::fields(value); })
            return std::apply([&](auto&... field) { return (get(field) && ...); }, T::fields(value)) &&
                   (good_ = value.sane());
        else
            return get_plain(value);
    }
    /// Reads a truth value. A byte other than 0 and 1 is refused, since as a bool it would be
    /// undefined behaviour.
    [[nodiscard]] bool get(bool& value) noexcept {
        unsigned char byte = 0;
        good_ = get_plain(byte) && byte <= 1;
        if (good_) value = byte == 1;
        return good_;
    }

    /// Reads a point or a length of time. It is refused below -1, which often means "none yet", and
    /// above 2^62, which no host's clock exceeds: differences of such times do not overflow.
    [[nodiscard]] bool get(nanoseconds& time) noexcept {
        std::int64_t count = 0;
        good_ = get_plain(count) && count >= -1 && count <= std::int64_t{1} << 62;
        if (good_) time.count = count;
        return good_;
    }

    /// The same for each value of an array.
    template <class T, std::size_t N>
    [[nodiscard]] bool get(std::array<T, N>& values) noexcept {
        for (auto& value : values)
            if (!get(value)) return false;
        return true;
    }

    /// True if all bytes have been read, without an error.
    [[nodiscard]] bool finished() const noexcept { return good_ && left_ == 0; }
    /// The number of bytes that are left; 0 after an error.
    [[nodiscard]] std::size_t left() const noexcept { return good_ ? left_ : 0; }

private:
    template <class T>
    [[nodiscard]] bool get_plain(T& value) noexcept {
        static_assert(std::is_trivially_copyable_v<T>);
        good_ = good_ && left_ >= sizeof(T);
        if (!good_) return false;
        std::memcpy(&value, at_, sizeof(T));
        at_ += sizeof(T);
        left_ -= sizeof(T);
        return true;
    }
};

}  // namespace ration
