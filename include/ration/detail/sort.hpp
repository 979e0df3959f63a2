// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A sort and a binary search without <algorithm>, for the core headers.
#pragma once

#include <cstddef>
#include <utility>

namespace ration::detail {

/// Heapsort, unless the items are sorted already, which is the common case here and takes O(n);
/// otherwise O(n log n), in place, not stable. Own code, because including <algorithm> costs more
/// than the whole core.
template <class T, class Before>
void sort(T* items, std::size_t size, Before before) noexcept {
    // Ends at the first pair that is out of order.
    bool sorted = true;
    for (std::size_t i = 1; i < size && sorted; ++i) sorted = !before(items[i], items[i - 1]);
    if (sorted) return;
    auto const sift_down = [&](std::size_t root, std::size_t end) {
        for (std::size_t child = 2 * root + 1; child < end; child = 2 * root + 1) {
            if (child + 1 < end && before(items[child], items[child + 1])) ++child;
            if (!before(items[root], items[child])) return;
            std::swap(items[root], items[child]);
            root = child;
        }
    };
    // Build a heap with the last item in order at the root, then move roots behind the heap.
    for (std::size_t i = size / 2; i-- > 0;) sift_down(i, size);
    for (std::size_t end = size; end-- > 1;) {
        std::swap(items[0], items[end]);
        sift_down(0, end);
    }
}

/// The first index for which `comes_before(index)` is false; `size` if there is none. It is true for all indices before
/// that one, and false for those behind it. O(log size).
template <class ComesBefore>
[[nodiscard]] std::size_t partition_point(std::size_t size, ComesBefore const& comes_before) noexcept {
    std::size_t low = 0, high = size;
    while (low < high) {
        std::size_t const middle = low + (high - low) / 2;
        if (comes_before(middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

}  // namespace ration::detail
