// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/check.hpp"
/// An array of zeros for hash tables that are rarely used.
///
/// The tables of the checker are as large as the largest answer, and only a wrong answer uses them. Their pages cost no
/// memory until then.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include <ration/assert.hpp>

namespace ration::detail {

/// Elements of plain data whose bytes are all zero at first. If memory runs out, the program ends.
template <class T>
class zeroed_buffer {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t));

    T* data_ = nullptr;
    std::size_t size_ = 0;

public:
    /// No elements.
    zeroed_buffer() noexcept = default;
    /// Exchanges the memory.
    zeroed_buffer(zeroed_buffer&& other) noexcept { *this = std::move(other); }
    /// Exchanges the memory.
    zeroed_buffer& operator=(zeroed_buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    /// Frees the memory.
    ~zeroed_buffer() { std::free(data_); }

    /// Replaces all elements by `size` zeros. The memory comes from the system untouched if it is large.
    void reset(std::size_t size) noexcept {
        std::free(data_);
        data_ = static_cast<T*>(std::calloc(size, sizeof(T)));
        size_ = size;
        RATION_ASSERT(data_ != nullptr, "out of memory");
    }

    /// The number of elements.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// The element with this index, without a check.
    [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
};

}  // namespace ration::detail
