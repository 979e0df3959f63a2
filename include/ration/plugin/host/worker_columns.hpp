// SPDX-License-Identifier: BSL-1.0
/// The columns that a plugin needs and the lists of their changed rows, and where its worker finds them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/changes.hpp>
#include <ration/column.hpp>
#include <ration/plugin/host/change_lists.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/policy.hpp>
#include <ration/snapshot.hpp>

namespace ration::plugin {

/// Each column has space in `input`. Those of a store in shared memory are read where they are. Of the others, only the
/// changed rows are copied where the host lists them.
class worker_columns {
    struct placed_column {
        table_id table;
        std::uint32_t from_slot = 0;
        std::size_t row_bytes = 0, place = 0, room = 0;
        bool is_copied = false;  // the last request had its values in `input`
    };

    shared_columns const* shared_;
    std::vector<column_info> schema_;  // in the host's schema
    std::vector<placed_column> placed_;
    change_lists lists_;
    limits most_;

public:
    /// `shared` has the columns of the host's store; nullptr if they are not in shared memory.
    explicit worker_columns(shared_columns const* shared) noexcept : shared_(shared) {}

    /// Finds the needed columns in the host's schema, which has them. Keeps no names of resources. Allocates.
    void bind(std::span<needed_column const> needed, std::span<column_info const> schema, limits const& most) {
        schema_.clear();
        placed_.clear();
        most_ = most;
        most_.resource_table = nullptr;
        std::size_t at = on_line(sizeof(worker_request));
        for (auto const& column : needed) {
            auto const& c = *find_column(schema, column.name);
            std::size_t const room = worker_places::bytes_of(c, most);
            schema_.push_back(c);
            placed_.push_back({c.table, c.slot, c.width * size_of(c.type), at, room});
            at += room;
        }
        lists_ = change_lists(at, most);
    }

    [[nodiscard]] std::span<column_info const> schema() const noexcept { return schema_; }
    [[nodiscard]] limits const& most() const noexcept { return most_; }
    /// The size of `input`.
    [[nodiscard]] std::size_t input_size() const noexcept { return std::max(sizeof(worker_request), lists_.end()); }
    /// The offset of the lists of changed rows in `input`.
    [[nodiscard]] std::size_t lists_at() const noexcept { return lists_.begin(); }
    /// The size of the file `columns`; 0 if there is none.
    [[nodiscard]] std::size_t shared_size() const noexcept { return shared_ == nullptr ? 0 : shared_->size(); }
    /// The file; -1 if there is none.
    [[nodiscard]] int shared_fd() const noexcept { return shared_size() != 0 ? shared_->fd() : -1; }

    /// Writes the changes and the place of each column into the request, and copies columns that are not in shared
    /// memory behind it. `changes`: since the last request, whose `input` is the same; nullptr: any row may have
    /// changed. O(changed rows), or O(rows) if they have moved.
    void show(snapshot const& data, table_changes const* const* changes, worker_request& request,
              std::byte* input) noexcept {
        for (std::size_t t = 0; t < table_count; ++t) {
            auto const& list = changes == nullptr ? everything_changed : *changes[t];
            request.changes[t] = lists_.write(static_cast<table_id>(t), list, data.tables[t]->rows, input);
        }
        for (std::size_t i = 0; i < placed_.size(); ++i) {
            auto const& sent = request.changes[static_cast<std::size_t>(placed_[i].table)];
            bool const is_listed = sent.everything == 0 && sent.moved == 0;
            request.place[i] = show(data, placed_[i],
                                    is_listed ? changes[static_cast<std::size_t>(placed_[i].table)] : nullptr, input);
        }
    }

private:
    /// `changed`: nullptr copies all rows.
    [[nodiscard]] std::uint64_t show(snapshot const& data, placed_column& c, table_changes const* changed,
                                     std::byte* input) const noexcept {
        auto const& table = data[c.table];
        auto const* const values = static_cast<std::byte const*>(table.slot[c.from_slot]);
        bool const was_copied = std::exchange(c.is_copied, shared_ == nullptr || !shared_->holds(values));
        if (!c.is_copied) return shared_->offset_of(values) | in_columns;
        std::size_t const used = table.rows * c.row_bytes;
        RATION_ASSERT(on_line(used) <= c.room,
                      "worker: more rows than bind() was given: call it again with higher limits");
        if (changed == nullptr || !was_copied)
            std::memcpy(input + c.place, values, used);
        else
            for (std::size_t i = 0; i < changed->count; ++i) {
                std::size_t const at = changed->row[i] * c.row_bytes;
                std::memcpy(input + c.place + at, values + at, c.row_bytes);
            }
        // Rows that were removed must leave no values
        std::memset(input + c.place + used, 0, on_line(used) - used);
        return c.place;
    }
};

}  // namespace ration::plugin
