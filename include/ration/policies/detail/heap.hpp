// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A binary heap without <algorithm>, for greedy divisions.
#pragma once

#include <cstddef>
#include <utility>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// A priority queue; the item that comes before all others is on top. `T::before(a, b)` is the
/// order. O(log n) for each change.
template <class T>
class heap {
    buffer<T> items_;

public:
    /// Allocates for this number of items.
    void reserve(std::size_t items) noexcept { items_.reserve(items); }
    /// Removes all items.
    void clear() noexcept { items_.clear(); }
    /// True without items.
    [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
    /// The first item. Precondition: not empty.
    [[nodiscard]] T const& top() const noexcept { return items_[0]; }

    /// Adds an item.
    void push(T const& item) noexcept {
        items_.push_back(item);
        for (std::size_t i = items_.size() - 1; i > 0 && T::before(items_[i], items_[(i - 1) / 2]); i = (i - 1) / 2)
            std::swap(items_[i], items_[(i - 1) / 2]);
    }
    /// Removes the first item. Precondition: not empty.
    void pop() noexcept {
        T const last = items_.back();
        items_.resize(items_.size() - 1);
        if (!items_.empty()) replace_top(last);
    }
    /// Replaces the first item; cheaper than `pop` and `push`. Precondition: not empty.
    void replace_top(T const& item) noexcept {
        std::size_t place = 0;
        for (std::size_t child = 1; child < items_.size(); child = 2 * place + 1) {
            if (child + 1 < items_.size() && T::before(items_[child + 1], items_[child])) ++child;
            if (!T::before(items_[child], item)) break;
            items_[place] = items_[child];
            place = child;
        }
        items_[place] = item;
    }
};

}  // namespace ration::policies::detail
