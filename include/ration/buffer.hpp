// SPDX-License-Identifier: BSL-1.0
/// A growing array of plain data: what the engine's loop keeps its rows in. It never throws, and costs a tenth of
/// std::vector to include (docs/adr/0005).
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <ration/assert.hpp>

namespace ration {

/// Elements are moved by copying their bytes. Running out of memory ends the program, as a bug does: whoever needs more
/// than was reserved has not reserved. Grows by doubling; `insert` and `erase` move what lies behind.
template <class T>
class buffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "ration: a buffer holds plain data; use std::vector for other types");

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;

public:
    using value_type = T;

    buffer() noexcept = default;
    explicit buffer(std::size_t size) noexcept { resize(size); }
    buffer(buffer const& other) noexcept { assign(other.data_, other.size_); }
    buffer(buffer&& other) noexcept { swap(other); }
    buffer& operator=(buffer other) noexcept {
        swap(other);
        return *this;
    }
    ~buffer() { ::operator delete(static_cast<void*>(data_), std::align_val_t{alignof(T)}); }

    void swap(buffer& other) noexcept {
        T* const data = data_;  // by hand: std::swap would be instantiated for each T
        data_ = other.data_;
        other.data_ = data;
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T* data() noexcept { return data_; }
    [[nodiscard]] T const* data() const noexcept { return data_; }
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }
    [[nodiscard]] T const* begin() const noexcept { return data_; }
    [[nodiscard]] T const* end() const noexcept { return data_ + size_; }
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T const& back() const noexcept { return data_[size_ - 1]; }
    [[nodiscard]] std::span<T const> view() const noexcept { return {data_, size_}; }
    /// The same, to be written to.
    [[nodiscard]] std::span<T> edit() noexcept { return {data_, size_}; }

    void clear() noexcept { size_ = 0; }

    void reserve(std::size_t capacity) noexcept {
        [[maybe_unused]] bool const reserved = try_reserve(capacity);
        RATION_ASSERT(reserved, "out of memory");
    }

    /// The same, and false where memory runs out: then nothing has changed.
    [[nodiscard]] bool try_reserve(std::size_t capacity) noexcept {
        if (capacity <= capacity_) return true;
        auto* const fresh =
            static_cast<T*>(::operator new(capacity * sizeof(T), std::align_val_t{alignof(T)}, std::nothrow));
        if (fresh == nullptr) return false;
        if (size_ != 0) std::memcpy(static_cast<void*>(fresh), static_cast<void const*>(data_), size_ * sizeof(T));
        ::operator delete(static_cast<void*>(data_), std::align_val_t{alignof(T)});
        data_ = fresh;
        capacity_ = capacity;
        return true;
    }

    void push_back(T element) noexcept {
        if (size_ == capacity_) reserve(size_ == 0 ? 8 : size_ * 2);
        ::new (static_cast<void*>(data_ + size_++)) T(element);
    }

    /// New elements are `T{}`.
    void resize(std::size_t size) noexcept {
        reserve(size);
        for (std::size_t i = size_; i < size; ++i) ::new (static_cast<void*>(data_ + i)) T{};
        size_ = size;
    }

    /// So many more elements, for the caller to write before anybody reads them; returns the first.
    [[nodiscard]] T* extend(std::size_t by) noexcept {
        reserve(size_ + by);
        size_ += by;
        return data_ + (size_ - by);
    }

    /// As many elements, all `T{}`.
    void reset(std::size_t size) noexcept {
        clear();
        resize(size);
    }

    void assign(T const* from, std::size_t size) noexcept {
        reserve(size);
        if (size != 0) std::memcpy(static_cast<void*>(data_), from, size * sizeof(T));
        size_ = size;
    }

    void insert(std::size_t at, T element) noexcept {
        push_back(element);
        std::memmove(static_cast<void*>(data_ + at + 1), data_ + at, (size_ - 1 - at) * sizeof(T));
        data_[at] = element;
    }

    void erase(std::size_t first, std::size_t last) noexcept {
        if (last < size_) std::memmove(static_cast<void*>(data_ + first), data_ + last, (size_ - last) * sizeof(T));
        size_ -= last - first;
    }
};

}  // namespace ration
