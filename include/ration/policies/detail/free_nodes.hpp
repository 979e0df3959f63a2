// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The nodes of a cluster by their free devices, for best fit and worst fit without a pass over all nodes.
///
/// Part of placement.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/policies/detail/row_set.hpp>

namespace ration::policies::detail {

/// The free devices of each node, and for each number of free devices the nodes that have as many. Nodes with 63 and
/// more share a set and are compared one by one. `set` is O(1), a search O(1) for each node that `allowed` refuses.
class free_nodes {
    static constexpr std::int64_t most = 63;
    static constexpr std::uint64_t below_most = (std::uint64_t{1} << most) - 1;
    buffer<std::int64_t> free_;
    row_set nodes_[most + 1];    // by number of free devices, at most `most`
    std::uint64_t filled_ = 0;   // bit i: some node has i free devices, which is never bit 0
    std::int64_t sum_ = 0;       // without the negative ones
    std::size_t overdrawn_ = 0;  // nodes with negative ones

public:
    /// Returned by a search without a result.
    static constexpr std::size_t nowhere = row_set::none;

    /// Allocates for nodes below this number, and sets all to 0.
    void reset(std::size_t nodes) noexcept {
        for (auto& set : nodes_) set.reset(nodes);
        free_.reset(nodes);
        filled_ = 0;
        sum_ = 0;
        overdrawn_ = 0;
    }

    /// The number of nodes.
    [[nodiscard]] std::size_t size() const noexcept { return free_.size(); }
    /// The free devices of a node; negative if it has lost devices that jobs hold.
    [[nodiscard]] std::int64_t operator[](std::size_t node) const noexcept { return free_[node]; }
    /// The free devices of all nodes. Negative ones count as 0.
    [[nodiscard]] std::int64_t sum() const noexcept { return sum_; }
    /// True if a node has lost devices that jobs hold.
    [[nodiscard]] bool is_overdrawn() const noexcept { return overdrawn_ != 0; }

    /// Changes the free devices of a node.
    void set(std::size_t node, std::int64_t free) noexcept {
        std::int64_t const before = free_[node];
        if (before == free) return;
        free_[node] = free;
        sum_ += (free > 0 ? free : 0) - (before > 0 ? before : 0);
        overdrawn_ += static_cast<std::size_t>(free < 0) - static_cast<std::size_t>(before < 0);
        if (set_of(before) == set_of(free)) return;
        put(node, set_of(before), false);
        put(node, set_of(free), true);
    }

    /// The allowed node with the least free devices, but at least `amount`; the first of equals. Precondition: `amount`
    /// is positive.
    template <class Allowed>
    [[nodiscard]] std::size_t tightest(std::int64_t amount, Allowed const& allowed) const noexcept {
        for (std::uint64_t sets = amount < most ? (filled_ & below_most) >> amount << amount : 0; sets != 0;
             sets &= sets - 1)
            if (std::size_t const node = first_in(std::countr_zero(sets), allowed); node != nowhere) return node;
        std::size_t found = nowhere;
        for (std::size_t node = nodes_[most].next(0); node != nowhere; node = nodes_[most].next(node + 1))
            if (free_[node] >= amount && (found == nowhere || free_[node] < free_[found]) && allowed(node))
                found = node;
        return found;
    }

    /// The allowed node with the most free devices, the first of equals; `nowhere` if none has any.
    template <class Allowed>
    [[nodiscard]] std::size_t emptiest(Allowed const& allowed) const noexcept {
        std::size_t found = nowhere;
        for (std::size_t node = nodes_[most].next(0); node != nowhere; node = nodes_[most].next(node + 1))
            if ((found == nowhere || free_[node] > free_[found]) && allowed(node)) found = node;
        if (found != nowhere) return found;
        for (std::uint64_t sets = filled_ & below_most; sets != 0; sets &= ~std::bit_floor(sets))
            if (std::size_t const node = first_in(std::bit_width(sets) - 1, allowed); node != nowhere) return node;
        return nowhere;
    }

private:
    /// The index of the set for this number of free devices. Nodes without free devices have the index 0 and no set.
    [[nodiscard]] static std::size_t set_of(std::int64_t free) noexcept {
        return static_cast<std::size_t>(free <= 0 ? 0 : free < most ? free : most);
    }
    void put(std::size_t node, std::size_t set, bool in) noexcept {
        if (set == 0) return;
        nodes_[set].set(node, in);
        std::uint64_t const bit = std::uint64_t{1} << set;
        filled_ = nodes_[set].size() > 0 ? filled_ | bit : filled_ & ~bit;
    }
    /// The first allowed node of a set.
    template <class Allowed>
    [[nodiscard]] std::size_t first_in(int set, Allowed const& allowed) const noexcept {
        row_set const& nodes = nodes_[static_cast<std::size_t>(set)];
        std::size_t node = nodes.next(0);
        while (node != nowhere && !allowed(node)) node = nodes.next(node + 1);
        return node;
    }
};

}  // namespace ration::policies::detail
