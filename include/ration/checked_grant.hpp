// SPDX-License-Identifier: BSL-1.0
/// Grants that passed every check, and the fitting of them into what the nodes have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ration/ledger.hpp>

namespace ration {

struct checked_grant {
    setting what;
    std::int64_t held = 0;       ///< what the job holds of it there now
    std::uint32_t job_row = 0;
    std::uint32_t row = 0;       ///< index of the grant in the policy's answer
    std::uint64_t group = 0;     ///< equal for rows that go all or none
    std::uint16_t reason = 0;    ///< the policy's code

    /// What the grant adds to the node's promises; negative when it gives back.
    [[nodiscard]] std::int64_t growth() const noexcept { return ledger::counted(what.amount) - ledger::counted(held); }
};

/// The end of the group that begins at `first`. Rows are sorted by group.
[[nodiscard]] inline std::size_t end_of_group(std::span<checked_grant const> rows, std::size_t first) noexcept {
    std::size_t last = first + 1;
    while (last < rows.size() && rows[last].group == rows[first].group) ++last;
    return last;
}

/// Drops whole groups until no node promises more than it has.
class capacity_fit {
    std::vector<std::int64_t> promised_;  // node-major, with every row that is still in
    std::vector<bool> dropped_;
    std::size_t resources_ = 0;

public:
    void prepare(std::size_t nodes, std::size_t resources, std::size_t rows) {
        promised_.assign(nodes * resources, 0);
        dropped_.assign(rows, false);
        resources_ = resources;
    }

    /// Of groups that compete for the last units the earlier one stays. `capacity(node, resource)` is asked for whole nodes;
    /// `dropped(row)` is called for each row that goes. `rows` must be sorted by group, and stays so.
    /// O(rows) for each round; a round follows only when a dropped group had given something back that another one took.
    template <class Capacity, class Dropped>
    void fit(ledger const& held, std::vector<checked_grant>& rows, Capacity capacity, Dropped dropped) noexcept {
        for (std::size_t i = 0; i < promised_.size(); ++i)
            promised_[i] = held.sum(static_cast<std::uint32_t>(i / resources_), static_cast<resource_id>(i % resources_));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            dropped_[i] = false;
            promised_at(rows[i]) += rows[i].growth();
        }
        while (drop_what_is_over(rows, capacity)) {}
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (dropped_[i])
                dropped(rows[i]);
            else
                rows[kept++] = rows[i];
        }
        rows.resize(kept);
    }

private:
    [[nodiscard]] std::int64_t& promised_at(checked_grant const& g) noexcept {
        return promised_[g.what.node * resources_ + static_cast<std::size_t>(g.what.resource)];
    }

    /// One round from the last group to the first; true when a group went.
    template <class Capacity>
    [[nodiscard]] bool drop_what_is_over(std::span<checked_grant const> rows, Capacity capacity) noexcept {
        bool any = false;
        for (std::size_t last = rows.size(); last > 0;) {
            std::size_t first = last - 1;
            while (first > 0 && rows[first - 1].group == rows[last - 1].group) --first;
            bool over = false;
            for (std::size_t i = first; i < last; ++i)
                over |= !dropped_[i] && rows[i].growth() > 0 &&
                        promised_at(rows[i]) > capacity(rows[i].what.node, rows[i].what.resource);
            for (std::size_t i = first; over && i < last; ++i) {
                dropped_[i] = true;
                promised_at(rows[i]) -= rows[i].growth();
            }
            any |= over;
            last = first;
        }
        return any;
    }
};

}  // namespace ration
