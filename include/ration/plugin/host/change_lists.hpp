// SPDX-License-Identifier: BSL-1.0
/// The lists of changed rows on their way to a worker, behind the columns in `input`.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ration/changes.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/policy.hpp>
#include <ration/snapshot.hpp>

namespace ration::plugin {

/// Offsets of the lists in `input`. Each list has space for every row of its table. The table `held` has none: its rows
/// move, so that any of them may have changed.
class change_lists {
    struct list {
        std::size_t most = 0, row = 0, groups = 0, at = 0;
    };
    static constexpr std::size_t lists = static_cast<std::size_t>(table_id::held);
    std::array<list, lists> of_{};
    std::size_t begin_ = 0, end_ = 0;

public:
    /// No list.
    change_lists() = default;
    /// Lists for these limits, from this offset on, which is a multiple of 64.
    change_lists(std::size_t begin, limits const& most) noexcept : begin_(begin), end_(begin) {
        of_[static_cast<std::size_t>(table_id::jobs)].most = most.jobs;
        of_[static_cast<std::size_t>(table_id::nodes)].most = most.nodes;
        for (list& l : of_) {
            l.row = end_;
            l.groups = l.row + on_line(l.most * sizeof(std::uint32_t));
            l.at = l.groups + on_line(l.most * sizeof(std::uint32_t));
            end_ = l.at + on_line(l.most * sizeof(std::int64_t));
        }
    }
    /// The offset of the first list.
    [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
    /// The offset behind the last list.
    [[nodiscard]] std::size_t end() const noexcept { return end_; }

    /// Writes the list of one table with this number of rows. A list with a row that the table lacks is not written:
    /// then any row counts as changed. O(listed rows).
    [[nodiscard]] listed_changes write(table_id t, table_changes const& from, std::uint64_t rows,
                                       std::byte* input) const noexcept {
        if (t == table_id::held || from.everything != 0 || !leads_to_rows(from, limit(t, rows))) return {};
        list const& to = of_[static_cast<std::size_t>(t)];
        if (from.count != 0) {
            std::memcpy(input + to.row, from.row, from.count * sizeof *from.row);
            std::memcpy(input + to.groups, from.groups, from.count * sizeof *from.groups);
            std::memcpy(input + to.at, from.at, from.count * sizeof *from.at);
        }
        return {.count = from.count, .everything = 0, .moved = from.moved != 0 ? 1U : 0U};
    }

    /// The list of one table in `input`, for a plugin that uses the rows as indices. If it cannot be of this number of
    /// rows, any row counts as changed. O(listed rows).
    [[nodiscard]] table_changes read(table_id t, listed_changes const& sent, std::uint64_t rows,
                                     std::byte const* input) const noexcept {
        if (t == table_id::held || sent.everything != 0) return {};
        list const& from = of_[static_cast<std::size_t>(t)];
        table_changes const made{.everything = 0,
                                 .moved = sent.moved != 0 ? std::uint16_t{1} : std::uint16_t{0},
                                 .count = sent.count,
                                 .row = reinterpret_cast<std::uint32_t const*>(input + from.row),
                                 .groups = reinterpret_cast<std::uint32_t const*>(input + from.groups),
                                 .at = reinterpret_cast<std::int64_t const*>(input + from.at)};
        return leads_to_rows(made, limit(t, rows)) ? made : table_changes{};
    }

private:
    /// The rows that a list can have.
    [[nodiscard]] std::uint64_t limit(table_id t, std::uint64_t rows) const noexcept {
        return std::min<std::uint64_t>(rows, of_[static_cast<std::size_t>(t)].most);
    }
    [[nodiscard]] static bool leads_to_rows(table_changes const& c, std::uint64_t rows) noexcept {
        return c.count <= rows &&
               std::all_of(c.row, c.row + c.count, [&](std::uint32_t const row) { return row < rows; });
    }
};

}  // namespace ration::plugin
