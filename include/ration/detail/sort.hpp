// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A sort without <algorithm>, for the core headers.
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

}  // namespace ration::detail
