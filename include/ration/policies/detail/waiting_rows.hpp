// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The waiting jobs by row, with the devices that each of them lacks.
///
/// Part of learners.hpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <ration/buffer.hpp>

namespace ration::policies::detail {

/// A tournament tree over the rows. O(log rows) for each operation but `fill`.
class waiting_rows {
    struct node {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();  // that a job lacks
        std::size_t jobs = 0;
        friend constexpr bool operator==(node const&, node const&) noexcept = default;
    };
    buffer<node> nodes_;  // a complete binary tree; the leaves are its second half
    std::size_t leaves_ = 0;

public:
    /// Behind the last row.
    static constexpr std::size_t none = ~std::size_t{0};

    /// Allocates for this number of rows, and removes all.
    void reserve(std::size_t rows) noexcept {
        nodes_.reserve(2 * std::bit_ceil(rows + 1));
        nodes_.clear();
        leaves_ = 0;
    }
    /// Sets all rows below `rows`: `lacks(row)` devices each, 0 = it does not wait. Makes room for further ones, up to
    /// `most`. O(rows).
    template <class Lacks>
    void fill(std::size_t rows, std::size_t most, Lacks const& lacks) noexcept {
        std::size_t const room = 2 * rows < most ? 2 * rows : most;
        leaves_ = std::bit_ceil((room > rows ? room : rows) + 1);
        nodes_.resize(2 * leaves_);
        for (std::size_t row = 0; row < leaves_; ++row) nodes_[leaves_ + row] = leaf(row < rows ? lacks(row) : 0);
        for (std::size_t i = leaves_ - 1; i > 0; --i) nodes_[i] = both(nodes_[2 * i], nodes_[2 * i + 1]);
    }
    /// The number of rows that have a place.
    [[nodiscard]] std::size_t room() const noexcept { return leaves_; }
    /// The number of waiting jobs.
    [[nodiscard]] std::size_t size() const noexcept { return leaves_ == 0 ? 0 : nodes_[1].jobs; }

    /// The job lacks this number of devices; 0 = it does not wait.
    void set(std::size_t row, std::int64_t lacks) noexcept { put(row, leaf(lacks)); }
    /// The same, but the job keeps its index. Precondition: it waits.
    void set_lack(std::size_t row, std::int64_t lacks) noexcept { put(row, {leaf(lacks).least, 1}); }

    /// The fewest devices that a job lacks.
    [[nodiscard]] std::int64_t least() const noexcept { return leaves_ == 0 ? leaf(0).least : nodes_[1].least; }

    /// True if the job waits.
    [[nodiscard]] bool contains(std::size_t row) const noexcept { return nodes_[leaves_ + row].jobs > 0; }
    /// The devices that the job lacks. Precondition: it waits.
    [[nodiscard]] std::int64_t lack(std::size_t row) const noexcept { return nodes_[leaves_ + row].least; }
    /// The first job that lacks at most this number of devices; `none` if there is none.
    [[nodiscard]] std::size_t first(std::int64_t most) const noexcept {
        if (size() == 0 || nodes_[1].least > most) return none;
        std::size_t i = 1;
        while (i < leaves_) i = nodes_[2 * i].least <= most ? 2 * i : 2 * i + 1;
        return i - leaves_;
    }
    /// The job with this index among those that wait. Precondition: it is below `size`.
    [[nodiscard]] std::size_t nth(std::size_t index) const noexcept {
        std::size_t i = 1;
        while (i < leaves_) {
            i *= 2;
            if (index < nodes_[i].jobs) continue;
            index -= nodes_[i].jobs;
            ++i;
        }
        return i - leaves_;
    }

private:
    void put(std::size_t row, node const& n) noexcept {
        std::size_t i = leaves_ + row;
        if (nodes_[i] == n) return;
        nodes_[i] = n;
        for (i /= 2; i > 0; i /= 2) nodes_[i] = both(nodes_[2 * i], nodes_[2 * i + 1]);
    }
    [[nodiscard]] static node leaf(std::int64_t lacks) noexcept { return lacks > 0 ? node{lacks, 1} : node{}; }
    [[nodiscard]] static node both(node const& a, node const& b) noexcept {
        return {a.least < b.least ? a.least : b.least, a.jobs + b.jobs};
    }
};

}  // namespace ration::policies::detail
