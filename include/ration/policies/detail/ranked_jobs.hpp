// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Jobs in the order of their priorities, with sums over parts of the order, so that a division of devices costs the
/// changes and not the number of jobs.
///
/// For policies for rigid jobs whose priorities change one at a time (las, srtf).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/policies/detail/priority_order.hpp>

namespace ration::policies::detail {

/// The amounts that one job adds to the sums.
struct ranked_job {
    std::int64_t wanted = 0;  ///< devices; a job that wants none is not in the order
    bool holds = false;       ///< it holds devices
    bool lacks = false;       ///< it does not hold exactly what it wants
    friend constexpr bool operator==(ranked_job const&, ranked_job const&) noexcept = default;
};

/// The order in which a job is. Those of the second one change their ranks among the first ones as time passes, while
/// each order stays as it is; `divide_merged` has the present ranks.
enum class job_order : std::uint8_t { first, second };

/// A node of a tree of jobs, by the row of its job. One cache line, since each step down the tree reads another node.
struct alignas(64) ranked_node {
    /// No row.
    static constexpr std::uint32_t none = 0xFFFF'FFFF;

    priority key;
    std::int64_t wanted = 0;
    bool holds = false, lacks = false;  // as in `ranked_job`
    bool is_in = false;
    job_order order = job_order::first;
    std::uint32_t left = none, right = none;
    // Of the subtree:
    std::int64_t sum = 0, least = 0;  // of `wanted`
    std::uint32_t holding = 0, lacking = 0;

    [[nodiscard]] ranked_job job() const noexcept { return {wanted, holds, lacks}; }
    void set(ranked_job const& job) noexcept {
        wanted = job.wanted;
        holds = job.holds;
        lacks = job.lacks;
    }
};

/// Reads into the cache the next node on a way down, and its sibling, whose sums are read on the way up.
inline void prefetch_children(buffer<ranked_node> const& nodes, std::uint32_t row) noexcept {
    for (std::uint32_t const child : {nodes[row].left, nodes[row].right})
        if (child != ranked_node::none) __builtin_prefetch(&nodes[child]);
}

/// A hash of the row: the finalizer of SplitMix64.
[[nodiscard]] inline std::uint64_t treap_height(std::uint32_t row) noexcept {
    std::uint64_t z = (std::uint64_t{row} + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/// Treaps over the rows of the jobs table; ties of the priority go to the lower row. Source: C. Aragon and R. Seidel,
/// "Randomized Search Trees", FOCS 1989; the heap priorities are hashes of the rows, so that each run has the same
/// tree. O(log n) expected for each change.
class ranked_jobs {
public:
    /// No row.
    static constexpr std::uint32_t none = ranked_node::none;

private:
    using node = ranked_node;
    buffer<node> nodes_;  // by row
    buffer<node> moved_;  // while rows move
    buffer<std::uint32_t> order_;
    std::uint32_t roots_[2] = {none, none};  // by job_order

public:
    /// Allocates for this number of jobs, and removes all.
    void reserve(std::size_t jobs) noexcept {
        clear();
        nodes_.reserve(jobs);
        moved_.reserve(jobs);
        order_.reserve(jobs);
    }
    /// Removes all jobs.
    void clear() noexcept {
        nodes_.clear();
        roots_[0] = roots_[1] = none;
    }

    /// Adds rows for new jobs, which are not in the order yet.
    void grow(std::size_t rows) noexcept {
        if (nodes_.size() < rows) nodes_.resize(rows);
    }

    /// Sets the place of a job in its order; a job that wants no devices leaves it.
    void put(std::size_t at, priority const& key, ranked_job const& job, job_order order = job_order::first) noexcept {
        auto const row = static_cast<std::uint32_t>(at);
        node& n = nodes_[row];
        bool const same_place = n.order == order && n.key.first == key.first && n.key.second == key.second;
        if (n.is_in && same_place && n.job() == job) return;
        if (n.is_in && same_place && job.wanted > 0) {
            n.set(job);
            return renew_below(root(order), row);
        }
        if (n.is_in) root(n.order) = erased(root(n.order), row);
        n.is_in = job.wanted > 0;
        n.order = order;
        n.key = key;
        n.set(job);
        if (n.is_in) root(order) = inserted(root(order), row);
    }

    /// Gives devices in the order of the priorities, to each job that fits into what is left of `devices`. Calls
    /// `stop(row)` for each job that holds devices and gets none, and `start(row)` for each that gets devices and does
    /// not hold them yet; each in the order of priorities. O((calls + largest request) log n), expected.
    template <class Stop, class Start>
    void divide(std::int64_t devices, Stop const& stop, Start const& start) const noexcept {
        divide_below(roots_[0], devices, stop, start);
    }

    /// The same for both orders merged: `is_before(a, key, b)` is true if job a of the second order comes before job b
    /// of the first one, whose key it is. Each job of the first order that fits when its turn comes costs a search.
    template <class Before, class Stop, class Start>
    void divide_merged(std::int64_t devices, Before const& is_before, Stop const& stop,
                       Start const& start) const noexcept {
        std::uint32_t done = none;  // the next job of the second order; none = no job was its turn yet
        bool all = false;
        auto const advance = [&](std::uint32_t row) noexcept {
            if (all) return;
            std::uint32_t const to =
                first_that([&](std::uint32_t other) noexcept { return !is_before(other, nodes_[row].key, row); });
            if (to == done && to != none) return;
            divide_range(roots_[1], done, to, devices, stop, start);
            done = to;
            all = to == none;
        };
        divide_beside(roots_[0], devices, advance, stop, start);
        if (!all) divide_range(roots_[1], done, none, devices, stop, start);
    }

    /// The fewest devices that a job of the first order requests.
    [[nodiscard]] std::int64_t least() const noexcept {
        return roots_[0] == none ? std::numeric_limits<std::int64_t>::max() : nodes_[roots_[0]].least;
    }
    /// The first job of the first order with this key that requests at most `devices` and for which `accepts(row)` is
    /// true; `none` if there is none. O(log n), expected, and as much for each job that is not accepted.
    template <class Accepts>
    [[nodiscard]] std::uint32_t first_fit(double key, std::int64_t devices, Accepts const& accepts) const noexcept {
        auto const below = [&](auto const& self, std::uint32_t root) noexcept -> std::uint32_t {
            if (root == none || nodes_[root].least > devices) return none;
            node const& n = nodes_[root];
            if (n.key.first < key) return self(self, n.right);
            if (std::uint32_t const row = self(self, n.left); row != none) return row;
            if (n.key.first > key) return none;
            return n.wanted <= devices && accepts(root) ? root : self(self, n.right);
        };
        return below(below, roots_[0]);
    }

    /// Gives the jobs their present rows: `rows[old]` is the new row, or 0xFFFFFFFF. Rows keep their order. O(n).
    void move_rows(std::span<std::uint32_t const> rows, std::size_t size) noexcept {
        moved_.reset(size);
        std::size_t ends[2] = {0, 0}, kept = 0;  // behind the jobs of each order
        order_.clear();
        for (int order = 0; order < 2; ++order) {
            std::size_t from = order_.size();
            list(roots_[order]);
            for (; from < order_.size(); ++from) {
                std::uint32_t const row = rows[order_[from]];
                if (row == none) continue;
                moved_[row] = nodes_[order_[from]];
                order_[kept++] = row;
            }
            ends[order] = kept;
        }
        nodes_.swap(moved_);
        roots_[0] = built(order_.view().first(ends[0]));
        roots_[1] = built(order_.view().subspan(ends[0], ends[1] - ends[0]));
    }

private:
    [[nodiscard]] std::uint32_t& root(job_order order) noexcept { return roots_[static_cast<std::size_t>(order)]; }
    [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept {
        priority const &x = nodes_[a].key, &y = nodes_[b].key;
        if (x.first != y.first) return x.first < y.first;
        return x.second != y.second ? x.second < y.second : a < b;
    }

    /// Computes the sums of a subtree from those of its parts.
    void renew(std::uint32_t row) noexcept {
        node& n = nodes_[row];
        n.sum = n.least = n.wanted;
        n.holding = n.holds ? 1 : 0;
        n.lacking = n.lacks ? 1 : 0;
        for (std::uint32_t const child : {n.left, n.right}) {
            if (child == none) continue;
            node const& c = nodes_[child];
            n.sum += c.sum;
            n.least = c.least < n.least ? c.least : n.least;
            n.holding += c.holding;
            n.lacking += c.lacking;
        }
    }
    /// The sums from the root down to a row whose key has not changed.
    void renew_below(std::uint32_t root, std::uint32_t row) noexcept {
        prefetch_children(nodes_, root);
        if (root != row) renew_below(before(row, root) ? nodes_[root].left : nodes_[root].right, row);
        renew(root);
    }

    [[nodiscard]] std::uint32_t inserted(std::uint32_t root, std::uint32_t row) noexcept {
        if (root != none) prefetch_children(nodes_, root);
        if (root == none || treap_height(row) > treap_height(root)) {
            split(root, row, nodes_[row].left, nodes_[row].right);
            root = row;
        } else if (before(row, root)) {
            nodes_[root].left = inserted(nodes_[root].left, row);
        } else {
            nodes_[root].right = inserted(nodes_[root].right, row);
        }
        renew(root);
        return root;
    }
    /// Divides a subtree into the jobs before a row and those behind it.
    void split(std::uint32_t root, std::uint32_t row, std::uint32_t& low, std::uint32_t& high) noexcept {
        if (root != none) prefetch_children(nodes_, root);
        if (root == none) {
            low = high = none;
        } else if (before(row, root)) {
            split(nodes_[root].left, row, low, nodes_[root].left);
            high = root;
            renew(root);
        } else {
            split(nodes_[root].right, row, nodes_[root].right, high);
            low = root;
            renew(root);
        }
    }
    [[nodiscard]] std::uint32_t erased(std::uint32_t root, std::uint32_t row) noexcept {
        prefetch_children(nodes_, root);
        if (root == row) return joined(nodes_[row].left, nodes_[row].right);
        if (before(row, root))
            nodes_[root].left = erased(nodes_[root].left, row);
        else
            nodes_[root].right = erased(nodes_[root].right, row);
        renew(root);
        return root;
    }
    /// Joins two subtrees, of which all jobs of `low` come first.
    [[nodiscard]] std::uint32_t joined(std::uint32_t low, std::uint32_t high) noexcept {
        if (low == none) return high;
        if (high == none) return low;
        std::uint32_t const root = treap_height(low) > treap_height(high) ? low : high;
        prefetch_children(nodes_, root);
        if (root == low)
            nodes_[low].right = joined(nodes_[low].right, high);
        else
            nodes_[high].left = joined(low, nodes_[high].left);
        renew(root);
        return root;
    }

    template <class Stop, class Start>
    void divide_below(std::uint32_t root, std::int64_t& left, Stop const& stop, Start const& start) const noexcept {
        if (root == none) return;
        node const& n = nodes_[root];
        if (n.least > left) return for_each<&node::holding>(root, [](node const& j) { return j.holds; }, stop);
        if (n.sum <= left) {
            left -= n.sum;
            return for_each<&node::lacking>(root, [](node const& j) { return j.lacks; }, start);
        }
        prefetch_children(nodes_, root);
        divide_below(n.left, left, stop, start);
        give(root, left, stop, start);
        divide_below(n.right, left, stop, start);
    }
    /// The turn of one job.
    template <class Stop, class Start>
    void give(std::uint32_t row, std::int64_t& left, Stop const& stop, Start const& start) const noexcept {
        node const& job = nodes_[row];
        if (job.wanted <= left) {
            left -= job.wanted;
            if (job.lacks) start(row);
        } else if (job.holds) {
            stop(row);
        }
    }

    /// `divide_below` for jobs of the first order; `advance(row)` gives their turn to those of the second order before
    /// this one.
    template <class Advance, class Stop, class Start>
    void divide_beside(std::uint32_t root, std::int64_t& left, Advance const& advance, Stop const& stop,
                       Start const& start) const noexcept {
        if (root == none) return;
        node const& n = nodes_[root];
        // No job fits, and what is left never grows.
        if (n.least > left) return for_each<&node::holding>(root, [](node const& j) { return j.holds; }, stop);
        prefetch_children(nodes_, root);
        divide_beside(n.left, left, advance, stop, start);
        if (n.wanted <= left) advance(root);
        give(root, left, stop, start);
        divide_beside(n.right, left, advance, stop, start);
    }
    /// `divide_below` for the jobs of a subtree from row `from` on and before row `to`; none = without that bound.
    template <class Stop, class Start>
    void divide_range(std::uint32_t root, std::uint32_t from, std::uint32_t to, std::int64_t& left, Stop const& stop,
                      Start const& start) const noexcept {
        if (root == none) return;
        if (from == none && to == none) return divide_below(root, left, stop, start);
        if (from != none && before(root, from)) return divide_range(nodes_[root].right, from, to, left, stop, start);
        if (to != none && !before(root, to)) return divide_range(nodes_[root].left, from, to, left, stop, start);
        divide_range(nodes_[root].left, from, none, left, stop, start);
        give(root, left, stop, start);
        divide_range(nodes_[root].right, none, to, left, stop, start);
    }
    /// The first job of the second order for which `is_behind(row)` is true, as for all jobs behind it.
    template <class Behind>
    [[nodiscard]] std::uint32_t first_that(Behind const& is_behind) const noexcept {
        std::uint32_t found = none;
        for (std::uint32_t at = roots_[1]; at != none;) {
            bool const behind = is_behind(at);
            if (behind) found = at;
            at = behind ? nodes_[at].left : nodes_[at].right;
        }
        return found;
    }
    /// Calls `act(row)` for the jobs of a subtree for which `counts` is true; `Count` is their number in a subtree.
    template <std::uint32_t node::* Count, class Counts, class Act>
    void for_each(std::uint32_t root, Counts const& counts, Act const& act) const noexcept {
        if (root == none || nodes_[root].*Count == 0) return;
        for_each<Count>(nodes_[root].left, counts, act);
        if (counts(nodes_[root])) act(root);
        for_each<Count>(nodes_[root].right, counts, act);
    }

    /// Appends the rows of a subtree to `order_`, in their order.
    void list(std::uint32_t root) noexcept {
        if (root == none) return;
        list(nodes_[root].left);
        order_.push_back(root);
        list(nodes_[root].right);
    }
    /// Builds the tree of rows in their order, and returns its root.
    [[nodiscard]] std::uint32_t built(std::span<std::uint32_t const> order) noexcept {
        std::uint32_t root = none;
        for (std::uint32_t const row : order) {
            nodes_[row].left = nodes_[row].right = none;
            renew(row);
        }
        for (std::uint32_t const row : order) root = joined(root, row);
        return root;
    }
};

}  // namespace ration::policies::detail
