// SPDX-License-Identifier: BSL-1.0
/// The synthetic cluster as a plugin sees it: a schema once, tables at every tick, all of it in memory that
/// can be locked.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/changes.hpp>

#include "cluster_size.hpp"
#include "guarded.hpp"
#include "plugin_under_test.hpp"

namespace ration::conformance {

/// A column that the tool offers; the numbers are those of the ABI.
struct offered_column {
    std::string name;
    std::uint32_t table = 0, type = 0, width = 1, slot = 0;
    std::uint32_t slot_in_cluster = RATION_NO_SLOT;  ///< none: only this plugin reads it, and its values are made up
    bool is_needed = false;                          ///< the manifest names it

    [[nodiscard]] std::size_t value_size() const noexcept { return type == RATION_U32 || type == RATION_F32 ? 4 : 8; }
};

/// The peculiarities of a schema. By default it is that of a host of this version which offers everything.
struct schema_options {
    bool empty = false;
    bool small = false;              ///< of a host with one job at most
    bool only_needs = false;         ///< as in a worker: what the manifest does not name is not there
    std::uint32_t extra_stride = 0;  ///< bytes behind each record, full of garbage
    bool of_later_host = false;      ///< has columns of types and tables that this version does not have
    std::string without{};           ///< this column is not there
    std::string without_slot{};      ///< this one has RATION_NO_SLOT
    std::string mistyped{};          ///< this one has another type
};

/// Records and names in memory of their own, which is gone with this object: a plugin that keeps a name finds out.
class schema_image {
    guarded space_;
    ration_schema schema_{};

public:
    schema_image(std::vector<offered_column> columns, schema_options const& options);
    [[nodiscard]] ration_schema const& get() const noexcept { return schema_; }
};

class tables {
    static constexpr std::size_t shown_tables = table_count + 1, most_slots = 160;  // one more than this version has
    static constexpr std::size_t most_rows = most_grants;

    /// All that a tick points at, but the columns' values.
    struct frame {
        ration_tick tick;
        ration_table table[shown_tables];
        ration_table const* pointers[shown_tables];
        void const* slots[shown_tables][most_slots];
        ration_changes changes[shown_tables];
        ration_changes const* pointers_to_changes[shown_tables];
        std::uint32_t changed_row[shown_tables][most_rows], changed_groups[shown_tables][most_rows];
        std::int64_t changed_at[shown_tables][most_rows];
        std::uint32_t cancel;
    };

    std::vector<offered_column> columns_;
    std::vector<std::unique_ptr<guarded>> values_;
    guarded frame_space_{"the tick", sizeof(frame)};
    std::unique_ptr<guarded> scratch_space_;
    std::uint64_t scratch_size_ = 0, seed_;
    bool scratch_is_exact_ = false;
    frame* frame_;

public:
    /// The columns of the synthetic cluster and the plugin's own; their order and slots come from `seed`.
    tables(subject const& s, std::uint64_t seed);

    [[nodiscard]] std::vector<offered_column> const& columns() const noexcept { return columns_; }
    /// `exact`: the first byte beyond `size` is a guard. Otherwise unchecked memory follows.
    void make_scratch(std::uint64_t size, bool exact);
    /// `changes`: of the tables that this version has, or nullptr where the host lists none.
    void show(testing::synthetic_cluster const& cluster, std::uint64_t tick, bool cancelled = false,
              table_changes const* const* changes = nullptr);
    void lock() noexcept;
    void unlock() noexcept;
    /// For good: who still has a pointer into them finds out.
    void hide() noexcept;
    [[nodiscard]] ration_tick const& tick() const noexcept { return frame_->tick; }

private:
    void fill(std::size_t column, snapshot const& from, std::size_t rows);
    void fill_frame(testing::synthetic_cluster const& cluster, std::uint64_t tick, bool cancelled);
    void fill_changes(table_changes const* const* changes) noexcept;
    [[nodiscard]] std::byte* fresh_scratch();
};

}  // namespace ration::conformance
