// SPDX-License-Identifier: BSL-1.0
/// The snapshot: the read-only state at one instant, as a structure of arrays. Policies read it; a host keeps it in a
/// `snapshot_store` (host/snapshot_store.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/column.hpp>
#include <ration/text.hpp>

namespace ration {

/// One table as a policy reads it: `slot[k]` is column k, contiguous, on a 64-byte boundary, padded to a multiple of 64
/// bytes. A plugin reads the same bytes (plugin/abi.h), so that no table is copied on the way to it.
struct table_view {
    std::uint32_t struct_size = sizeof(table_view);
    std::uint32_t slots = 0;
    std::uint64_t rows = 0;
    void const* const* slot = nullptr;
};

/// What is known at one instant: `tables[t]` is table t. Read-only, and dead when `decide` returns.
struct snapshot {
    table_view const* const* tables = nullptr;
    [[nodiscard]] table_view const& operator[](table_id t) const noexcept {
        return *tables[static_cast<std::size_t>(t)];
    }
};

/// One column that a host offers. `width` is 1 for a scalar.
struct column_info {
    text<longest_column_name> name;
    table_id table = table_id::jobs;
    column_type type = column_type::f64;
    std::uint32_t width = 1;
    std::uint32_t slot = 0;
};

/// The column of this name, or nullptr.
[[nodiscard]] inline column_info const* find_column(std::span<column_info const> schema,
                                                    std::string_view name) noexcept {
    for (auto const& column : schema)
        if (column.name == name) return &column;
    return nullptr;
}

}  // namespace ration
