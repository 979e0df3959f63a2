// SPDX-License-Identifier: BSL-1.0
/// Records which rows of the tables have changed since the policy was last asked.
///
/// Part of `snapshot_store`. A host that calls `follow` marks each row that it writes; the engine marks what it writes
/// itself, and empties the log after each decision. Without `follow`, any row counts as changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/changes.hpp>
#include <ration/column.hpp>

namespace ration {

/// The changes of all tables. `mark` is O(1); it allocates only for more rows than ever before, and never for more than
/// the table has.
class change_log {
    struct one_table {
        buffer<std::uint32_t> rows, groups;  // the list
        buffer<std::int64_t> at;
        buffer<std::uint32_t> entry;  // by row: its place in the list + 1, or 0

        void swap(one_table& other) noexcept {
            rows.swap(other.rows);
            groups.swap(other.groups);
            at.swap(other.at);
            entry.swap(other.entry);
        }
    };
    std::array<one_table, table_count> tables_;
    std::array<table_changes, table_count> shown_;
    std::array<table_changes const*, table_count> view_{};
    std::array<std::size_t, table_count> sizes_{};  // rows of each table
    bool followed_ = false;
    bool tenants_marked_ = true;

public:
    /// Exchanges the content of both.
    void swap(change_log& other) noexcept {
        for (std::size_t t = 0; t < table_count; ++t) {
            tables_[t].swap(other.tables_[t]);
            table_changes const mine = shown_[t];  // by hand: std::swap asks for a dozen traits of each type
            shown_[t] = other.shown_[t];
            other.shown_[t] = mine;
            std::size_t const size = sizes_[t];
            sizes_[t] = other.sizes_[t];
            other.sizes_[t] = size;
        }
        bool const mine = followed_;
        followed_ = other.followed_;
        other.followed_ = mine;
        bool const marked = tenants_marked_;
        tenants_marked_ = other.tenants_marked_;
        other.tenants_marked_ = marked;
    }

    /// The host marks every row that it writes from now on.
    void follow() noexcept { followed_ = true; }
    /// True if the host marks its rows.
    [[nodiscard]] bool is_followed() const noexcept { return followed_; }

    /// True if a row of the table `tenants` was marked since the last decision, or the host marks none. Policies take
    /// each of its rows for changed at any decision, since usage changes with time.
    [[nodiscard]] bool has_marked_tenants() const noexcept { return !followed_ || tenants_marked_; }

    /// The table has this number of rows from now on.
    void resize(table_id t, std::size_t rows) noexcept { sizes_[static_cast<std::size_t>(t)] = rows; }

    /// Records that columns of these groups have changed in a row. `at`: the time of `progress_columns`, or -1 for the
    /// time of the next decision. A row that the table does not have cannot be listed: then any row may have changed.
    void mark(table_id t, std::size_t row, std::uint32_t groups, std::int64_t at = -1) noexcept {
        table_changes const& shown = shown_[static_cast<std::size_t>(t)];
        if (t == table_id::tenants) tenants_marked_ = true;
        if (!followed_ || shown.everything != 0) return;
        if (row >= sizes_[static_cast<std::size_t>(t)]) return mark_all(t);
        one_table& table = tables_[static_cast<std::size_t>(t)];
        while (table.entry.size() <= row) table.entry.push_back(0);
        std::uint32_t& entry = table.entry[row];
        if (entry == 0) {
            table.rows.push_back(static_cast<std::uint32_t>(row));
            table.groups.push_back(0);
            table.at.push_back(-1);
            entry = static_cast<std::uint32_t>(table.rows.size());
        }
        table.groups[entry - 1] |= groups;
        if ((groups & progress_columns) != 0) table.at[entry - 1] = at;
    }

    /// Any row may have changed, and rows may have moved.
    void mark_all(table_id t) noexcept {
        empty(t);
        if (t == table_id::tenants) tenants_marked_ = true;
        shown_[static_cast<std::size_t>(t)].everything = shown_[static_cast<std::size_t>(t)].moved = 1;
    }

    /// The next decision takes any row of any table for changed.
    void mark_everything() noexcept {
        for (std::size_t t = 0; t < table_count; ++t) mark_all(static_cast<table_id>(t));
    }

    /// The rows for which `gone[row]` is true are removed. O(rows).
    void note_removed(table_id t, bool const* gone, std::size_t rows) noexcept {
        one_table& table = tables_[static_cast<std::size_t>(t)];
        shown_[static_cast<std::size_t>(t)].moved = 1;
        if (shown_[static_cast<std::size_t>(t)].everything != 0) return;
        while (table.entry.size() < rows) table.entry.push_back(0);
        std::size_t kept = 0, listed = 0;
        for (std::size_t row = 0; row < rows; ++row) {
            std::uint32_t const entry = table.entry[row];
            table.entry[row] = 0;
            if (gone[row]) continue;
            table.entry[kept] = entry;
            if (entry != 0) table.rows[entry - 1] = static_cast<std::uint32_t>(kept) | kept_mark;
            ++kept;
        }
        for (std::size_t i = 0; i < table.rows.size(); ++i) {
            if ((table.rows[i] & kept_mark) == 0) continue;
            table.rows[listed] = table.rows[i] & ~kept_mark;
            table.groups[listed] = table.groups[i];
            table.at[listed] = table.at[i];
            ++listed;
            table.entry[table.rows[listed - 1]] = static_cast<std::uint32_t>(listed);
        }
        table.rows.resize(listed);
        table.groups.resize(listed);
        table.at.resize(listed);
    }

    /// The changes, one for each `table_id`; nullptr if the host does not follow them. Valid until the next change.
    [[nodiscard]] table_changes const* const* view() noexcept {
        if (!followed_) return nullptr;
        for (std::size_t t = 0; t < table_count; ++t) {
            table_changes& shown = shown_[t];
            shown.count = tables_[t].rows.size();
            shown.row = tables_[t].rows.data();
            shown.groups = tables_[t].groups.data();
            shown.at = tables_[t].at.data();
            view_[t] = &shown;
        }
        return view_.data();
    }
    /// The changes of one table.
    [[nodiscard]] table_changes const& of(table_id t) noexcept {
        auto const* const all = view();
        return all == nullptr ? everything_changed : *all[static_cast<std::size_t>(t)];
    }

    /// The policy has been asked: a new log begins.
    void clear() noexcept {
        for (std::size_t t = 0; t < table_count; ++t) {
            empty(static_cast<table_id>(t));
            // Slots of the table `held` move; a change of a job's holdings is listed with the job. Tenants are few, and
            // their usage changes with time.
            shown_[t].everything = shown_[t].moved =
                static_cast<table_id>(t) == table_id::held || static_cast<table_id>(t) == table_id::tenants;
        }
        tenants_marked_ = false;
    }

private:
    static constexpr std::uint32_t kept_mark = 0x8000'0000;  // tables have fewer rows

    void empty(table_id t) noexcept {
        one_table& table = tables_[static_cast<std::size_t>(t)];
        for (std::uint32_t const row : table.rows) table.entry[row] = 0;
        table.rows.clear();
        table.groups.clear();
        table.at.clear();
    }
};

}  // namespace ration
