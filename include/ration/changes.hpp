// SPDX-License-Identifier: BSL-1.0
/// Which rows of a snapshot have changed since a policy was last asked.
///
/// For authors of policies whose cost has to follow the changes and not the number of jobs. A policy reads it through
/// `tick::changes`; one that ignores it reads all rows. A host records the changes with `change_log`
/// (host/change_log.hpp). The layout is that of `ration_changes` in plugin/abi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/units.hpp>

namespace ration {

/// Columns of a row that change together; the bits of `table_changes::groups`.
enum column_group : std::uint32_t {
    progress_columns = 1,     ///< jobs: step, loss, remaining, attained and other measurements
    state_columns = 2,        ///< jobs: state, tier, started, restarts
    held_columns = 4,         ///< jobs/held.*, nodes/free.*
    capacity_columns = 8,     ///< nodes/capacity.*, nodes/type
    description_columns = 16  ///< all others: bounds, weights, targets, scaling
};
/// Every group, as for a new row.
inline constexpr std::uint32_t all_columns = 31;

/// The rows of one table that have changed.
///
/// A host that does not record changes sets `everything`, and so does every host for the first decision of a policy and
/// for the one after a failure. Values that a policy has remembered are then void. The rows of the tables `held` and
/// `tenants` are not listed.
struct table_changes {
    /// Size of this struct in the host's version. Later versions only append members.
    std::uint32_t struct_size = sizeof(table_changes);
    /// 1: any row may have changed; the list is empty.
    std::uint16_t everything = 1;
    /// 1: rows were removed, and later rows have moved up. The order of the others is the same, and their ids identify
    /// them. The list has the present row numbers.
    std::uint16_t moved = 1;
    /// Entries in the list. A row is listed once, in no particular order.
    std::uint64_t count = 0;
    /// The rows.
    std::uint32_t const* row = nullptr;
    /// For each entry: its column groups, as bits of `column_group`.
    std::uint32_t const* groups = nullptr;
    /// For each entry: the time in ns of its last change of `progress_columns`. `jobs/attained` of the row is as of
    /// then, and grows by `jobs/held.gpu` in each second. While the job holds devices, `jobs/remaining` falls by
    /// `jobs/measured_steps_per_second` in each second from then on; before, as during a restart, it does not change.
    /// -1: the values are as of now.
    std::int64_t const* at = nullptr;
};

/// The changes of a table in which any row may have changed.
inline constexpr table_changes everything_changed{};

}  // namespace ration
