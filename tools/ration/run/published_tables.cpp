// SPDX-License-Identifier: BSL-1.0
#include "run/published_tables.hpp"

#include <algorithm>
#include <cstring>

namespace ration::program {
namespace {

[[nodiscard]] std::size_t row_bytes(column_info const& column) noexcept { return size_of(column.type) * column.width; }

[[nodiscard]] std::size_t most_rows(column_info const& column, limits const& most) noexcept {
    switch (column.table) {
        case table_id::jobs: return most.jobs;
        case table_id::nodes: return most.nodes;
        case table_id::held: return most.grants();
        case table_id::tenants: return most.tenants;
    }
    return 0;
}

}  // namespace

bool is_changed_by_grants(column_info const& column) noexcept {
    auto const name = column.name.view();
    return column.table == table_id::held || name.starts_with("jobs/held.") || name.starts_with("nodes/free.") ||
           name.starts_with("tenants/held.");
}

published_tables::published_tables(any_policy& policy) noexcept : forwarding_policy(policy) {
    for (std::size_t t = 0; t < table_count; ++t) views_[t] = &tables_[t];
}

result<void> published_tables::bind(std::span<column_info const> schema, limits const& most) noexcept {
    copied_.clear();
    std::array<std::size_t, table_count> columns{};
    for (auto const& column : schema) {
        ++columns[static_cast<std::size_t>(column.table)];
        if (is_changed_by_grants(column)) {
            copied_.push_back({column});
            copied_.back().values.reserve(most_rows(column, most) * row_bytes(column));
        }
    }
    for (std::size_t t = 0; t < table_count; ++t) slots_[t].reserve(columns[t]);
    return inner().bind(schema, most);
}

status published_tables::decide(tick_data const& t, grants& out) noexcept {
    keep(t.data);
    return inner().decide(t, out);
}

void published_tables::keep(snapshot const& data) {
    for (std::size_t t = 0; t < table_count; ++t) {
        table_view const& shown = *data.tables[t];
        slots_[t].assign(shown.slot, shown.slot + shown.slots);
        tables_[t] = {.slots = shown.slots, .rows = shown.rows, .slot = slots_[t].data()};
    }
    for (auto& [column, values] : copied_) {
        auto const t = static_cast<std::size_t>(column.table);
        auto const* const first = static_cast<std::byte const*>(data.tables[t]->slot[column.slot]);
        values.assign(first, first + tables_[t].rows * row_bytes(column));
        slots_[t][column.slot] = values.data();
    }
}

}  // namespace ration::program
