// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The first of the items of all rows, by any order.
///
/// Part of followed_shares.hpp.
#pragma once

#include <bit>
#include <cstddef>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// A complete binary tree in which each node has the first item of the two below it. `Item{}` means none, and
/// comes last. `Before` is the order. O(log rows) for each change of an item.
template <class Item, class Before>
class tournament {
    buffer<Item> nodes_;  // the leaves are the second half
    std::size_t leaves_ = 0;

public:
    /// Allocates for this number of rows.
    void reserve(std::size_t rows) noexcept { nodes_.reserve(2 * std::bit_ceil(rows + 1)); }
    /// Makes room for this number of rows, and removes all items. O(rows).
    void reset(std::size_t rows) noexcept {
        leaves_ = std::bit_ceil(rows + 1);
        nodes_.reset(2 * leaves_);
    }
    /// The number of rows that have a place.
    [[nodiscard]] std::size_t room() const noexcept { return leaves_; }

    /// Sets the item of a row.
    void set(std::size_t row, Item const& item) noexcept {
        std::size_t i = leaves_ + row;
        if (nodes_[i] == item) return;
        nodes_[i] = item;
        for (i /= 2; i > 0; i /= 2) {
            Item const& winner = Before{}(nodes_[2 * i + 1], nodes_[2 * i]) ? nodes_[2 * i + 1] : nodes_[2 * i];
            if (nodes_[i] == winner) return;
            nodes_[i] = winner;
        }
    }
    /// The first item. Precondition: there is room for a row.
    [[nodiscard]] Item const& first() const noexcept { return nodes_[1]; }
};

}  // namespace ration::policies::detail
