// SPDX-License-Identifier: BSL-1.0
/// Finds which rows of a snapshot have changed and in which groups of columns, by comparing them with the last tick.
///
/// For the laws of Policy, for `ration check`, and for hosts that want to test whether they mark every row that they
/// write.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/changes.hpp>
#include <ration/snapshot.hpp>

namespace ration::testing {

/// The group of a column, by its name.
[[nodiscard]] inline column_group group_of(std::string_view column) noexcept {
    constexpr std::string_view of_state[] = {"jobs/state", "jobs/tier", "jobs/started", "jobs/restarts"};
    constexpr std::string_view of_progress[] = {"jobs/step", "jobs/remaining", "jobs/attained",
                                                "jobs/measured_steps_per_second"};
    if (std::ranges::find(of_state, column) != std::end(of_state)) return state_columns;
    if (std::ranges::find(of_progress, column) != std::end(of_progress)) return progress_columns;
    for (std::string_view const measured : {"jobs/loss", "jobs/used.", "jobs/slo."})
        if (column.starts_with(measured)) return progress_columns;
    if (column.starts_with("jobs/held.") || column.starts_with("nodes/free.")) return held_columns;
    if (column.starts_with("nodes/capacity.") || column == "nodes/type") return capacity_columns;
    return description_columns;
}

/// Compares each tick with the one before. It allocates.
class found_changes {
    struct one_table {
        std::vector<std::uint64_t> ids;             // of the jobs; row numbers in the other tables
        std::vector<std::vector<std::byte>> bytes;  // by row: the values of all columns
        std::vector<std::uint32_t> rows, groups;
        std::vector<std::int64_t> at;
    };
    std::array<one_table, table_count> last_;
    std::array<table_changes, table_count> changes_;
    std::array<table_changes const*, table_count> view_{};
    bool has_last_ = false;
    bool lists_holders_;

public:
    /// `lists_holders`: jobs that hold devices are listed at each tick, as by a host that shows `jobs/attained` as of
    /// now. Otherwise only rows with another value are.
    explicit found_changes(bool lists_holders) noexcept : lists_holders_(lists_holders) {}

    /// The changes since the last call, one for each `table_id`; everything at the first one. Valid until the next
    /// call.
    [[nodiscard]] table_changes const* const* between(snapshot const& data, std::span<column_info const> schema) {
        for (std::size_t t = 0; t < table_count; ++t) compare(data, schema, static_cast<table_id>(t));
        has_last_ = true;
        for (std::size_t t = 0; t < table_count; ++t) view_[t] = &changes_[t];
        return view_.data();
    }

private:
    [[nodiscard]] static std::vector<std::byte> row_of(snapshot const& data, std::span<column_info const> schema,
                                                       table_id t, std::size_t row) {
        std::vector<std::byte> bytes;
        for (auto const& c : schema) {
            if (c.table != t) continue;
            std::size_t const size = size_of(c.type) * c.width;
            auto const* const first = static_cast<std::byte const*>(data[t].slot[c.slot]) + row * size;
            bytes.insert(bytes.end(), first, first + size);
        }
        return bytes;
    }
    [[nodiscard]] static std::vector<std::uint64_t> ids_of(snapshot const& data, std::span<column_info const> schema,
                                                           table_id t) {
        std::vector<std::uint64_t> ids(data[t].rows);
        auto const* const known = find_column(schema, "jobs/id");
        for (std::size_t row = 0; row < ids.size(); ++row)
            ids[row] = t == table_id::jobs && known != nullptr
                           ? static_cast<std::uint64_t const*>(data[t].slot[known->slot])[row]
                           : row;
        return ids;
    }

    [[nodiscard]] static bool holds_devices(snapshot const& data, std::span<column_info const> schema,
                                            std::size_t row) {
        auto const* const held = find_column(schema, "jobs/held.gpu");
        return held != nullptr && static_cast<std::int64_t const*>(data[table_id::jobs].slot[held->slot])[row] != 0;
    }

    /// The groups in which two versions of a row differ.
    [[nodiscard]] static std::uint32_t difference(std::span<column_info const> schema, table_id t,
                                                  std::span<std::byte const> before, std::span<std::byte const> now) {
        std::uint32_t groups = 0;
        std::size_t at = 0;
        for (auto const& c : schema) {
            if (c.table != t) continue;
            std::size_t const size = size_of(c.type) * c.width;
            if (!std::ranges::equal(before.subspan(at, size), now.subspan(at, size))) groups |= group_of(c.name.view());
            at += size;
        }
        return groups;
    }

    void compare(snapshot const& data, std::span<column_info const> schema, table_id t) {
        one_table& last = last_[static_cast<std::size_t>(t)];
        one_table now;
        now.ids = ids_of(data, schema, t);
        bool const is_first = !has_last_;
        for (std::size_t row = 0; row < now.ids.size(); ++row) {
            now.bytes.push_back(row_of(data, schema, t, row));
            auto const before = std::lower_bound(last.ids.begin(), last.ids.end(), now.ids[row]);
            bool const is_known = before != last.ids.end() && *before == now.ids[row];
            bool const grows = lists_holders_ && t == table_id::jobs && holds_devices(data, schema, row);
            auto const* const former =
                is_known ? &last.bytes[static_cast<std::size_t>(before - last.ids.begin())] : nullptr;
            std::uint32_t const groups = (is_known ? difference(schema, t, *former, now.bytes[row]) : all_columns) |
                                         (grows ? std::uint32_t{progress_columns} : 0);
            if (groups == 0) continue;
            now.rows.push_back(static_cast<std::uint32_t>(row));
            now.groups.push_back(groups);
        }
        now.at.assign(now.rows.size(), -1);
        bool const same_rows =
            last.ids.size() <= now.ids.size() && std::equal(last.ids.begin(), last.ids.end(), now.ids.begin());
        last = std::move(now);
        changes_[static_cast<std::size_t>(t)] = {.everything = is_first ? std::uint16_t{1} : std::uint16_t{0},
                                                 .moved = same_rows ? std::uint16_t{0} : std::uint16_t{1},
                                                 .count = is_first ? 0 : last.rows.size(),
                                                 .row = last.rows.data(),
                                                 .groups = last.groups.data(),
                                                 .at = last.at.data()};
    }
};

}  // namespace ration::testing
