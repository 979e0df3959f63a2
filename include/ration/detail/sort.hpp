// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <utility>

namespace ration::detail {

/// Sorts by heap when it is not sorted yet; O(n) when it is, which is the common case here. Own code, because
/// <algorithm> costs more to include than the whole of the core.
template <class T, class Before>
void sort(T* items, std::size_t size, Before before) noexcept {
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
    for (std::size_t i = size / 2; i-- > 0;) sift_down(i, size);
    for (std::size_t end = size; end-- > 1;) {
        std::swap(items[0], items[end]);
        sift_down(0, end);
    }
}

}  // namespace ration::detail
