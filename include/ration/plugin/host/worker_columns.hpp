// SPDX-License-Identifier: BSL-1.0
/// The columns that a plugin needs, and where its worker finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <ration/assert.hpp>
#include <ration/column.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/plugin/host/shared_file.hpp>
#include <ration/plugin/host/worker_layout.hpp>
#include <ration/policy.hpp>
#include <ration/snapshot.hpp>

namespace ration::plugin {

/// Each column has space in `input`. Those of a store in shared memory are read where they are.
class worker_columns {
    struct placed_column {
        table_id table;
        std::uint32_t from_slot = 0;
        std::size_t row_bytes = 0, place = 0, room = 0;
    };

    shared_columns const* shared_;
    std::vector<column_info> schema_;  // in the host's schema
    std::vector<placed_column> placed_;
    limits most_;

public:
    /// `shared` has the columns of the host's store; nullptr if they are not in shared memory.
    explicit worker_columns(shared_columns const* shared) noexcept : shared_(shared) {}

    /// Finds the needed columns in the host's schema, which has them. Allocates.
    void bind(std::span<needed_column const> needed, std::span<column_info const> schema, limits const& most) {
        schema_.clear();
        placed_.clear();
        most_ = most;
        std::size_t at = on_line(sizeof(worker_request));
        for (auto const& column : needed) {
            auto const& c = *find_column(schema, column.name);
            std::size_t const room = worker_places::bytes_of(c, most);
            schema_.push_back(c);
            placed_.push_back({c.table, c.slot, c.width * size_of(c.type), at, room});
            at += room;
        }
    }

    [[nodiscard]] std::span<column_info const> schema() const noexcept { return schema_; }
    [[nodiscard]] limits const& most() const noexcept { return most_; }
    /// The size of `input`.
    [[nodiscard]] std::size_t input_size() const noexcept {
        return on_line(sizeof(worker_request)) + (placed_.empty() ? 0 : placed_.back().place + placed_.back().room);
    }
    /// The size of the file `columns`; 0 if there is none.
    [[nodiscard]] std::size_t shared_size() const noexcept { return shared_ == nullptr ? 0 : shared_->size(); }
    /// The file; -1 if there is none.
    [[nodiscard]] int shared_fd() const noexcept { return shared_size() != 0 ? shared_->fd() : -1; }

    /// Writes the place of each column into the request, and copies those that are not in shared memory behind it.
    void show(snapshot const& data, worker_request& request, std::byte* input) const noexcept {
        for (std::size_t i = 0; i < placed_.size(); ++i) request.place[i] = show(data, placed_[i], input);
    }

private:
    [[nodiscard]] std::uint64_t show(snapshot const& data, placed_column const& c, std::byte* input) const noexcept {
        auto const& table = data[c.table];
        void const* const values = table.slot[c.from_slot];
        if (shared_ != nullptr && shared_->holds(values)) return shared_->offset_of(values) | in_columns;
        std::size_t const used = table.rows * c.row_bytes;
        RATION_ASSERT(on_line(used) <= c.room,
                      "worker: more rows than bind() was told: call it again with higher limits");
        std::memcpy(input + c.place, values, used);
        // Rows that were removed must leave no values
        std::memset(input + c.place + used, 0, on_line(used) - used);
        return c.place;
    }
};

}  // namespace ration::plugin
