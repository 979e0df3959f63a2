// SPDX-License-Identifier: BSL-1.0
/// The store in which a host keeps its snapshot: tables whose columns are declared once, and whose
/// rows come and go.
///
/// Example:
/// ~~~{.cpp}
/// ration::snapshot_store store;
/// auto const loss = store.declare<double>("jobs/loss");
/// if (!loss) return loss.failure();
/// if (auto const sized = store.resize(ration::table_id::jobs, 2); !sized) return sized.failure();
/// store.at(*loss, 0) = 0.7;
/// policy.decide({.data = store.view()}, answer);
/// ~~~
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/buffer.hpp>
#include <ration/column.hpp>
#include <ration/detail/aligned_buffer.hpp>
#include <ration/host/change_log.hpp>
#include <ration/host/column_memory.hpp>
#include <ration/result.hpp>
#include <ration/snapshot.hpp>

namespace ration {

/// A handle of a column, as `snapshot_store::declare` returns it. Valid for that store only.
template <ColumnValue T>
struct column {
    /// The table of the column.
    table_id table = table_id::jobs;
    /// Its index in the table.
    std::uint32_t slot = 0;
    /// Elements of each row; 0 for a column that `snapshot_store::omit` declared.
    std::uint32_t width = 1;
};

/// The tables and columns of one host. It allocates only when a table exceeds its largest size so
/// far. Rows of the jobs table have to be in ascending order of `jobs/id`, which the owner ensures.
/// One thread at a time may change it.
class snapshot_store {
    struct stored_column {
        detail::aligned_buffer data;
        std::size_t row_bytes = 0;
    };
    struct stored_table {
        table_view shown;
        std::vector<stored_column> columns;
        buffer<void const*> slots;

        void swap(stored_table& other) noexcept {
            table_view const mine = shown;
            shown = other.shown;
            other.shown = mine;
            columns.swap(other.columns);
            slots.swap(other.slots);
        }
    };

    std::array<stored_table, table_count> tables_;
    std::array<table_view const*, table_count> shown_;
    buffer<column_info> schema_, omitted_;
    column_memory* memory_;
    change_log changes_;

public:
    /// A store on the heap.
    snapshot_store() noexcept : snapshot_store(nullptr) {}
    /// Columns are in `memory`, or on the heap if it is nullptr.
    explicit snapshot_store(column_memory* memory) noexcept : memory_(memory) {
        for (std::size_t i = 0; i < table_count; ++i) shown_[i] = &tables_[i].shown;
    }
    /// Exchanges the content; views refer to the object from which they were taken.
    snapshot_store(snapshot_store&& other) noexcept : snapshot_store() { swap(other); }
    /// Exchanges the content.
    snapshot_store& operator=(snapshot_store&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Exchanges the content of both stores. O(tables).
    void swap(snapshot_store& other) noexcept {
        for (std::size_t i = 0; i < table_count; ++i) tables_[i].swap(other.tables_[i]);
        schema_.swap(other.schema_);
        omitted_.swap(other.omitted_);
        column_memory* const mine = memory_;
        memory_ = other.memory_;
        other.memory_ = mine;
        changes_.swap(other.changes_);
    }

    /// The declared columns, in the order of their declaration.
    [[nodiscard]] std::span<column_info const> schema() const noexcept { return schema_.view(); }
    /// The number of rows of a table.
    [[nodiscard]] std::size_t rows(table_id t) const noexcept { return table_at(t).shown.rows; }

    /// Adds a column, which is zero in existing rows; a second declaration returns the first one.
    /// Errors: `invalid_value` (name without a table or longer than `longest_column_name`, width
    /// 0), `conflict` (declared with another type or width), `no_capacity`.
    template <ColumnValue T>
    [[nodiscard]] result<column<T>> declare(std::string_view name, std::uint32_t width = 1) noexcept {
        auto const slot = declare(name, type_of<T>, width);
        if (!slot) return slot.failure();
        return column<T>{slot->table, slot->slot, slot->width};
    }

    /// The same for a type that is known at run time only.
    [[nodiscard]] result<column_info> declare(std::string_view name, column_type type, std::uint32_t width) noexcept {
        auto const refuse = [&](errc code) {
            return error{.code = code, .operation = "declare column", .subject = name};
        };
        std::size_t const index = table_index_of(name);
        if (index == table_count || width == 0 || name.size() > longest_column_name) return refuse(errc::invalid_value);
        if (auto const* known = find_column(schema_.view(), name)) {
            if (known->type != type || known->width != width) return refuse(errc::conflict);
            return *known;
        }
        if (auto const* known = find_column(omitted_.view(), name)) {
            if (known->type != type) return refuse(errc::conflict);
            return *known;
        }
        std::size_t const row_bytes = size_of(type) * width;
        std::uint32_t const slot = add(tables_[index], tables_[index].shown.rows * row_bytes, row_bytes);
        if (slot == no_slot) return refuse(errc::no_capacity);
        schema_.push_back({name, static_cast<table_id>(index), type, width, slot});
        return schema_.back();
    }

    /// Declares a column that the host writes and no policy reads. It is not in the schema, and has one row for all:
    /// `at` returns the value that was written last, whatever the row. A later `declare` returns its handle, of width
    /// 0. Precondition: no column has the name. Errors: those of `declare`.
    [[nodiscard]] result<void> omit(std::string_view name, column_type type, std::uint32_t width = 1) noexcept {
        auto const refuse = [&](errc code) { return error{.code = code, .operation = "omit column", .subject = name}; };
        std::size_t const index = table_index_of(name);
        if (index == table_count || width == 0 || name.size() > longest_column_name) return refuse(errc::invalid_value);
        if (find_column(schema_.view(), name) != nullptr) return refuse(errc::conflict);
        std::uint32_t const slot = add(tables_[index], size_of(type) * width, 0);
        if (slot == no_slot) return refuse(errc::no_capacity);
        omitted_.push_back({name, static_cast<table_id>(index), type, 0, slot});
        return {};
    }

    /// A column declared earlier. Errors: `not_found`; `conflict` for another type.
    template <ColumnValue T>
    [[nodiscard]] result<column<T>> find(std::string_view name) const noexcept {
        auto const* const info = find_column(schema_.view(), name);
        if (info == nullptr) return error{.code = errc::not_found, .operation = "find column", .subject = name};
        if (info->type != type_of<T>) return error{.code = errc::conflict, .operation = "find column", .subject = name};
        return column<T>{info->table, info->slot, info->width};
    }

    /// The first value of a row, without a check of `row`. O(1).
    template <ColumnValue T>
    [[nodiscard]] T& at(column<T> c, std::size_t row) noexcept {
        return reinterpret_cast<T*>(first_of(c.table, c.slot))[row * c.width];
    }
    /// The same, read-only.
    template <ColumnValue T>
    [[nodiscard]] T const& at(column<T> c, std::size_t row) const noexcept {
        return reinterpret_cast<T const*>(first_of(c.table, c.slot))[row * c.width];
    }

    /// The first value of the first row; the others follow, `width` for each row. A resize
    /// invalidates it.
    template <ColumnValue T>
    [[nodiscard]] T* data(column<T> c) noexcept {
        return reinterpret_cast<T*>(first_of(c.table, c.slot));
    }
    /// The same, read-only.
    template <ColumnValue T>
    [[nodiscard]] T const* data(column<T> c) const noexcept {
        return reinterpret_cast<T const*>(first_of(c.table, c.slot));
    }

    /// All values of the column, `width` for each row.
    template <ColumnValue T>
    [[nodiscard]] std::span<T> operator[](column<T> c) noexcept {
        return {reinterpret_cast<T*>(first_of(c.table, c.slot)), rows(c.table) * c.width};
    }
    /// The same, read-only.
    template <ColumnValue T>
    [[nodiscard]] std::span<T const> operator[](column<T> c) const noexcept {
        return {reinterpret_cast<T const*>(first_of(c.table, c.slot)), rows(c.table) * c.width};
    }

    /// Sets the number of rows; new rows are zero. Error: `no_capacity`, and then nothing has
    /// changed.
    [[nodiscard]] result<void> resize(table_id t, std::size_t rows) noexcept {
        auto& table = table_at(t);
        std::size_t const before = table.shown.rows;
        bool room = true;
        for (auto& c : table.columns) room = room && c.data.reserve(rows * c.row_bytes, before * c.row_bytes);
        refresh_slots(table);  // some buffers have moved, even if a later one found no memory
        if (!room) return error{.code = errc::no_capacity, .operation = "grow snapshot table"};
        for (auto& c : table.columns)
            if (rows > before)
                c.data.clear(before * c.row_bytes, rows * c.row_bytes);
            else if (rows < before)
                std::memset(c.data.data() + rows * c.row_bytes, 0, (before - rows) * c.row_bytes);
        table.shown.rows = rows;
        changes_.resize(t, rows);
        if (rows < before) changes_.mark_all(t);
        for (std::size_t row = before; row < rows; ++row) changes_.mark(t, row, all_columns);
        return {};
    }

    /// The changed rows. A host that follows its changes marks each row that it writes; new rows are marked.
    [[nodiscard]] change_log& changes() noexcept { return changes_; }

    /// Removes one row; later rows move up. O(rows x columns).
    void erase_row(table_id t, std::size_t row) noexcept {
        auto& table = table_at(t);
        RATION_ASSERT(row < table.shown.rows, "erase_row: no such row exists");
        std::size_t const last = --table.shown.rows;
        changes_.resize(t, last);
        changes_.mark_all(t);
        for (auto& c : table.columns) {
            unsigned char* const place = c.data.data() + row * c.row_bytes;
            std::memmove(place, place + c.row_bytes, (last - row) * c.row_bytes);
            std::memset(c.data.data() + last * c.row_bytes, 0, c.row_bytes);
        }
    }

    /// Removes the rows for which `gone[row]` is true; the others move up. O(rows x columns),
    /// independently of their number.
    void erase_rows(table_id t, bool const* gone) noexcept {
        auto& table = table_at(t);
        std::size_t const rows = table.shown.rows;
        std::size_t kept = 0;
        for (auto& c : table.columns) {
            unsigned char* const data = c.data.data();
            kept = 0;
            for (std::size_t row = 0; row < rows; ++row) {
                if (gone[row]) continue;
                if (row != kept) std::memcpy(data + kept * c.row_bytes, data + row * c.row_bytes, c.row_bytes);
                ++kept;
            }
            std::memset(data + kept * c.row_bytes, 0, (rows - kept) * c.row_bytes);
        }
        table.shown.rows = kept;
        changes_.resize(t, kept);
        changes_.note_removed(t, gone, rows);
    }

    /// The read-only view. It refers to this store, so it shows later changes.
    [[nodiscard]] snapshot view() const noexcept { return {shown_.data()}; }

private:
    [[nodiscard]] stored_table& table_at(table_id t) noexcept { return tables_[static_cast<std::size_t>(t)]; }
    [[nodiscard]] stored_table const& table_at(table_id t) const noexcept {
        return tables_[static_cast<std::size_t>(t)];
    }

    [[nodiscard]] unsigned char* first_of(table_id t, std::uint32_t slot) noexcept {
        return table_at(t).columns[slot].data.data();
    }
    [[nodiscard]] unsigned char const* first_of(table_id t, std::uint32_t slot) const noexcept {
        return table_at(t).columns[slot].data.data();
    }

    static constexpr std::uint32_t no_slot = 0xFFFF'FFFF;

    /// Adds a column with this memory. Returns its slot, or `no_slot` if memory has run out.
    [[nodiscard]] std::uint32_t add(stored_table& table, std::size_t bytes, std::size_t row_bytes) noexcept {
        stored_column fresh{.data = detail::aligned_buffer(memory_), .row_bytes = row_bytes};
        if (!fresh.data.reserve(bytes, 0)) return no_slot;
        table.columns.push_back(std::move(fresh));
        table.slots.push_back(nullptr);
        refresh_slots(table);
        return static_cast<std::uint32_t>(table.columns.size() - 1);
    }

    /// Updates the pointers of a table after its buffers may have moved.
    static void refresh_slots(stored_table& table) noexcept {
        for (std::size_t i = 0; i < table.columns.size(); ++i) table.slots[i] = table.columns[i].data.data();
        table.shown.slots = static_cast<std::uint32_t>(table.slots.size());
        table.shown.slot = table.slots.data();
    }
};

}  // namespace ration
