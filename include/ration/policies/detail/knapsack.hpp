// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The 0/1 knapsack problem, by branch and bound: the items of the largest total value that fit into a capacity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>

namespace ration::policies::detail {

/// Depth-first search in the order of value per byte, with the bound of the fractional problem. After `most_steps`
/// nodes the best selection so far is the answer, so that the time of a call is limited.
///
/// O(items log items) to sort, and O(log items) for each node. Without a step it is the greedy selection.
class knapsack {
    struct item {
        double value;
        std::int64_t bytes;
        std::uint32_t index;
    };

public:
    /// Nodes of one search. Instances with 200 random items need some tens.
    static constexpr std::uint32_t most_steps = 1024;

    /// Allocates for this number of items.
    void reserve(std::size_t items) noexcept {
        items_.reserve(items);
        values_.reserve(items + 1);
        sizes_.reserve(items + 1);
        taken_.reserve(items);
        best_.reserve(items);
        chosen_.reserve(items);
    }

    /// Removes all items.
    void clear() noexcept { items_.clear(); }
    /// Adds an item. Precondition: value and size are above 0.
    void add(std::uint32_t index, double value, std::int64_t bytes) noexcept {
        items_.push_back({value, bytes, index});
    }

    /// The indices of the best selection, in no particular order. Valid until the next call.
    [[nodiscard]] std::span<std::uint32_t const> solve(std::int64_t capacity) noexcept {
        ration::detail::sort(items_.data(), items_.size(), [](item const& a, item const& b) noexcept {
            double const left = a.value * static_cast<double>(b.bytes), right = b.value * static_cast<double>(a.bytes);
            return left != right ? left > right : a.index < b.index;
        });
        add_up();
        search(capacity);
        chosen_.clear();
        for (std::uint32_t const at : best_) chosen_.push_back(items_[at].index);
        return chosen_.view();
    }

private:
    buffer<item> items_;
    buffer<double> values_;       // sums of the items before each position
    buffer<std::int64_t> sizes_;  // the same
    buffer<std::uint32_t> taken_, best_, chosen_;

    void add_up() noexcept {
        values_.clear();
        sizes_.clear();
        double value = 0;
        std::int64_t bytes = 0;
        for (item const& one : items_) {
            values_.push_back(value);
            sizes_.push_back(bytes);
            value += one.value;
            bytes += one.bytes;
        }
        values_.push_back(value);
        sizes_.push_back(bytes);
    }

    /// The first item from `next` on that does not fit after all those before it.
    [[nodiscard]] std::size_t first_beyond(std::size_t next, std::int64_t left) const noexcept {
        return next + ration::detail::partition_point(items_.size() - next, [&](std::size_t more) noexcept {
                   return sizes_[next + more + 1] - sizes_[next] <= left;
               });
    }

    void search(std::int64_t left) noexcept {
        taken_.clear();
        best_.clear();
        double value = 0, best_value = 0;
        std::size_t next = 0;
        for (std::uint32_t steps = 0; steps < most_steps; ++steps) {
            std::size_t const end = first_beyond(next, left);
            double const whole = values_[end] - values_[next];
            std::int64_t const rest = left - (sizes_[end] - sizes_[next]);
            bool const is_complete = end == items_.size();
            double const part =
                is_complete ? 0
                            : items_[end].value * static_cast<double>(rest) / static_cast<double>(items_[end].bytes);
            if (value + whole + part > best_value * (1 + 1e-9)) {
                for (; next < end; ++next) taken_.push_back(static_cast<std::uint32_t>(next));
                left = rest;
                value += whole;
                if (value > best_value) {
                    best_value = value;
                    best_.assign(taken_.data(), taken_.size());
                }
                next = end + 1;
                if (!is_complete) continue;
            }
            if (taken_.empty()) return;
            std::uint32_t const last = taken_.back();
            taken_.erase(taken_.size() - 1, taken_.size());
            left += items_[last].bytes;
            value -= items_[last].value;
            next = last + 1;
        }
    }
};

}  // namespace ration::policies::detail
