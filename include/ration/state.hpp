// SPDX-License-Identifier: BSL-1.0
/// Saved state: plain values, one after the other, in space that somebody else owns. A struct of such values has a
/// static `fields(self)` that ties its members, and `sane()`, which says whether values from outside can be of one.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

namespace ration {

/// Writes as long as there is room and counts what all of it would need, so that one function both measures and saves.
class state_writer {
    std::span<std::byte> space_;
    std::size_t needed_ = 0;

public:
    explicit state_writer(std::span<std::byte> space) noexcept : space_(space) {}

    template <class T>
    void put(T const& value) noexcept {
        if constexpr (requires { T::fields(value); })
            std::apply([&](auto const&... field) { (put(field), ...); }, T::fields(value));
        else
            put_plain(value);
    }

    /// Bytes that all of it takes; more than the space had means that nothing useful was written.
    [[nodiscard]] std::size_t needed() const noexcept { return needed_; }

private:
    template <class T>
    void put_plain(T const& value) noexcept {
        static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                      "ration: a value with padding has no bytes of its own to save: put its members one by one");
        if (needed_ + sizeof(T) <= space_.size()) std::memcpy(space_.data() + needed_, &value, sizeof(T));
        needed_ += sizeof(T);
    }
};

/// Reads what a `state_writer` wrote. Everything is doubtful: after a read past the end all further ones fail as well.
class state_reader {
    std::byte const* at_;
    std::size_t left_;
    bool good_ = true;

public:
    explicit state_reader(std::span<std::byte const> saved) noexcept : at_(saved.data()), left_(saved.size()) {}

    template <class T>
    [[nodiscard]] bool get(T& value) noexcept {
        if constexpr (requires { T::fields(value); })
            return std::apply([&](auto&... field) { return (get(field) && ...); }, T::fields(value)) &&
                   (good_ = value.sane());
        else
            return get_plain(value);
    }
    /// Any byte but 0 and 1 would be no truth value.
    [[nodiscard]] bool get(bool& value) noexcept {
        unsigned char byte = 0;
        good_ = get_plain(byte) && byte <= 1;
        if (good_) value = byte == 1;
        return good_;
    }

    /// Whether exactly all of it has been read.
    [[nodiscard]] bool finished() const noexcept { return good_ && left_ == 0; }
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
