// SPDX-License-Identifier: BSL-1.0
/// The snapshot: the read-only state at one instant, as a structure of arrays.
///
/// Policies read it, mostly through `tick::get` (policy.hpp). A host keeps it in a `snapshot_store`
/// (host/snapshot_store.hpp). The layout is shared with plugins, so it consists of plain pointers
/// and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/column.hpp>
#include <ration/text.hpp>

namespace ration {

/// One table as a policy reads it. `slot[k]` is column k: contiguous, on a 64-byte boundary, and
/// padded to a multiple of 64 bytes. A plugin reads the same bytes (plugin/abi.h); no table is
/// copied.
struct table_view {
    /// Size of this struct in the host's version. Later versions only append members.
    std::uint32_t struct_size = sizeof(table_view);
    /// Number of columns, and of pointers in `slot`.
    std::uint32_t slots = 0;
    /// Number of rows in each column.
    std::uint64_t rows = 0;
    /// The columns. The type of each is in the `column_info` with the same slot.
    void const* const* slot = nullptr;
};

/// The state at one instant: `tables[t]` is table t. Valid until `decide` returns.
///
/// A snapshot is valid if (1) rows of jobs are in ascending order of their ids; (2) `0 <= min <= max` for each resource
/// of a job, both at most `max_amount`, or `max` is `unlimited`; (3) capacities, requests and holdings are from 0 to
/// `max_amount`, or `unlimited` where the resource allows it, and the sums of a node do not overflow; (4) `free` is the
/// capacity less the reservations; (5) for a policy that reads neither `held/node` nor `nodes/free.gpu`, and so cannot
/// name nodes, all holdings are on the first node. Nothing relates two snapshots or these columns to each other:
/// bounds, requests and capacities may change under jobs that run, so that a job holds less than its minimum or more
/// than its maximum, requests what it does not accept, or a node has lost what jobs hold. Columns of other quantities
/// can have any value of their type, also NaN.
struct snapshot {
    /// One pointer for each value of `table_id`.
    table_view const* const* tables = nullptr;
    /// The table with this id. O(1).
    [[nodiscard]] table_view const& operator[](table_id t) const noexcept {
        return *tables[static_cast<std::size_t>(t)];
    }
};

/// One column that a host offers.
struct column_info {
    /// The full name, as in `jobs/loss`.
    text<longest_column_name> name;
    /// The table that the column belongs to.
    table_id table = table_id::jobs;
    /// The type of its elements.
    column_type type = column_type::f64;
    /// Elements for each row; 1 for a scalar column.
    std::uint32_t width = 1;
    /// The index in `table_view::slot`.
    std::uint32_t slot = 0;
};

/// Finds the column by its name; nullptr if the host does not offer it. O(columns); call it once,
/// before the first tick.
[[nodiscard]] inline column_info const* find_column(std::span<column_info const> schema,
                                                    std::string_view name) noexcept {
    for (auto const& column : schema)
        if (column.name == name) return &column;
    return nullptr;
}

}  // namespace ration
