// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/snapshot.hpp"
/// Memory for columns.
///
/// Used by `snapshot_store`. The memory comes from the heap, or from a `column_memory` that is
/// shared with a worker process.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <ration/host/column_memory.hpp>

namespace ration::detail {

/// Memory on a 64-byte boundary whose size is a multiple of 64 bytes. It is zeroed from the used bytes to the end of
/// their line, so that a vectorised loop may read past the last row. The memory behind that is untouched until it is
/// used.
class aligned_buffer {
    static constexpr std::size_t line = 64;
    column_memory* from_ = nullptr;  // nullptr: the heap
    unsigned char* data_ = nullptr;
    std::size_t capacity_ = 0;

public:
    /// No memory; grows on the heap.
    aligned_buffer() noexcept = default;
    /// No memory; grows in `from`, which has to outlive the buffer.
    explicit aligned_buffer(column_memory* from) noexcept : from_(from) {}
    /// Takes over the memory.
    aligned_buffer(aligned_buffer&& other) noexcept
        : from_(other.from_), data_(other.data_), capacity_(other.capacity_) {
        other.data_ = nullptr;
        other.capacity_ = 0;  // by hand: std::exchange would be instantiated for each type
    }
    /// Exchanges the memory with `other`.
    aligned_buffer& operator=(aligned_buffer&& other) noexcept {
        column_memory* const mine = from_;
        from_ = other.from_;
        other.from_ = mine;
        unsigned char* const data = data_;  // by hand: std::swap asks for a dozen traits of each type
        data_ = other.data_;
        other.data_ = data;
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    /// Returns the memory to its source.
    ~aligned_buffer() { release(); }

    /// The first byte; null before the first `reserve`.
    [[nodiscard]] unsigned char* data() const noexcept { return data_; }
    /// The size in bytes, a multiple of 64.
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

    /// Makes room for `size` bytes and keeps the first `used`. Returns false, and changes nothing,
    /// without enough memory. A size of 0 also allocates, so that a plugin never receives a null
    /// column. Grows at least by half, so that rows can be added one by one; others up to `size` are zero then.
    [[nodiscard]] bool reserve(std::size_t size, std::size_t used) noexcept {
        if (data_ != nullptr && size <= capacity_) return true;
        std::size_t const grown = capacity_ + capacity_ / 2, wanted = size > grown ? size : grown;
        std::size_t const rounded = wanted == 0 ? line : whole_lines(wanted);
        auto* const fresh = static_cast<unsigned char*>(allocate(rounded));
        if (fresh == nullptr) return false;
        if (used != 0) std::memcpy(fresh, data_, used);
        release();
        data_ = fresh;
        capacity_ = rounded;
        clear(used, size == 0 ? line : size);
        return true;
    }

    /// Zeroes the bytes from `first` to the end of the line of `last`. Precondition: there is room for `last`.
    void clear(std::size_t first, std::size_t last) noexcept {
        std::memset(data_ + first, 0, whole_lines(last) - first);
    }

private:
    [[nodiscard]] static std::size_t whole_lines(std::size_t bytes) noexcept {
        return (bytes + line - 1) / line * line;
    }
    [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
        return from_ != nullptr ? from_->allocate(bytes) : ::operator new(bytes, std::align_val_t{line}, std::nothrow);
    }
    void release() noexcept {
        if (from_ == nullptr)
            ::operator delete(data_, std::align_val_t{line});
        else if (data_ != nullptr)
            from_->release(data_, capacity_);
    }
};

}  // namespace ration::detail
