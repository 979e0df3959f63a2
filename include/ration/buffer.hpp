// SPDX-License-Identifier: BSL-1.0
/// A growing array of plain data, in which the engine's loop keeps its rows.
///
/// It never throws, and including it costs a tenth of std::vector (docs/adr/0005).
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <ration/assert.hpp>

namespace ration {

/// An array whose elements are moved by copying their bytes. `push_back` doubles it; all other functions allocate
/// exactly the size that they need. If memory runs out, the program ends, as after a bug: on the tick, `reserve` has
/// been called before.
template <class T>
class buffer {
    static_assert(std::is_trivially_copyable_v<T>,
                  "ration: a buffer holds plain data; use std::vector for other types");

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;

public:
    /// The type of the elements.
    using value_type = T;

    /// An empty array without memory.
    buffer() noexcept = default;
    /// `size` elements `T{}`.
    explicit buffer(std::size_t size) noexcept { resize(size); }
    /// Copies the elements; the capacity is not copied.
    buffer(buffer const& other) noexcept { assign(other.data_, other.size_); }
    /// Takes over the memory; `other` is empty afterwards.
    buffer(buffer&& other) noexcept { swap(other); }
    /// Replaces the elements, by copy or by move.
    buffer& operator=(buffer other) noexcept {
        swap(other);
        return *this;
    }
    /// Frees the memory. The elements have no destructors.
    ~buffer() { ::operator delete(static_cast<void*>(data_), std::align_val_t{alignof(T)}); }

    /// Exchanges the memory of both. O(1).
    void swap(buffer& other) noexcept {
        T* const data = data_;  // by hand: std::swap would be instantiated for each T
        data_ = other.data_;
        other.data_ = data;
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    /// The number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The number of elements for which memory is allocated.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// True without elements.
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// The first element; null before the first allocation. Growth invalidates it.
    [[nodiscard]] T* data() noexcept { return data_; }
    /// The same, read-only.
    [[nodiscard]] T const* data() const noexcept { return data_; }
    /// Range of the elements.
    [[nodiscard]] T* begin() noexcept { return data_; }
    [[nodiscard]] T* end() noexcept { return data_ + size_; }
    /// The same, read-only.
    [[nodiscard]] T const* begin() const noexcept { return data_; }
    [[nodiscard]] T const* end() const noexcept { return data_ + size_; }
    /// The element with this index, without a check.
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] T const& operator[](std::size_t i) const noexcept { return data_[i]; }
    /// The last element. Precondition: not empty.
    [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T const& back() const noexcept { return data_[size_ - 1]; }
    /// The elements, read-only.
    [[nodiscard]] std::span<T const> view() const noexcept {
        return {begin(), size_};  // not `data_`: std::span costs instantiations for each kind of pointer
    }
    /// The elements, writable.
    [[nodiscard]] std::span<T> edit() noexcept { return {data_, size_}; }

    /// Removes all elements and keeps the memory. O(1).
    void clear() noexcept { size_ = 0; }

    /// Allocates for at least `capacity` elements. No effect if there is enough memory.
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

    /// Appends one element; amortised O(1). By value, since an element of this array would move
    /// while it grows.
    void push_back(T element) noexcept {
        if (size_ == capacity_) reserve(size_ == 0 ? 8 : size_ * 2);
        ::new (static_cast<void*>(data_ + size_++)) T(element);
    }

    /// Changes the number of elements; new ones are `T{}`.
    void resize(std::size_t size) noexcept {
        reserve(size);
        for (std::size_t i = size_; i < size; ++i) ::new (static_cast<void*>(data_ + i)) T{};
        size_ = size;
    }

    /// Appends `by` elements, which the caller has to write before they are read. Returns the first
    /// of them.
    [[nodiscard]] T* extend(std::size_t by) noexcept {
        reserve(size_ + by);
        size_ += by;
        return data_ + (size_ - by);
    }

    /// Makes all `size` elements `T{}`.
    void reset(std::size_t size) noexcept {
        clear();
        resize(size);
    }

    /// Replaces the elements by `size` elements from `from`, which is not in this array.
    void assign(T const* from, std::size_t size) noexcept {
        reserve(size);
        if (size != 0) std::memcpy(static_cast<void*>(data_), static_cast<void const*>(from), size * sizeof(T));
        size_ = size;
    }

    /// Inserts an element before index `at`. O(elements behind it).
    void insert(std::size_t at, T element) noexcept {
        push_back(element);
        std::memmove(static_cast<void*>(data_ + at + 1), data_ + at, (size_ - 1 - at) * sizeof(T));
        data_[at] = element;
    }

    /// Removes the elements [first, last). O(elements behind them).
    void erase(std::size_t first, std::size_t last) noexcept {
        if (last < size_) std::memmove(static_cast<void*>(data_ + first), data_ + last, (size_ - last) * sizeof(T));
        size_ -= last - first;
    }
};

}  // namespace ration
