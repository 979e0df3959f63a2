// SPDX-License-Identifier: BSL-1.0
// What a host shows: the schema once, and the tables of each tick.
#include <cstring>

#include "leak_check.hpp"

namespace leak_check {
namespace {

constexpr std::size_t line = 64;

[[nodiscard]] std::size_t size_of(std::uint32_t type) noexcept {
    return type == RATION_U32 || type == RATION_F32 ? 4 : 8;
}

[[nodiscard]] bool find(instance const& self, char const* name, std::uint32_t type, std::uint32_t& slot) noexcept {
    for (std::uint32_t i = 0; i < self.column_count; ++i) {
        auto const& c = self.columns[i];
        if (std::strcmp(c.name, name) != 0) continue;
        slot = c.slot;
        return c.type == type && c.width == 1;
    }
    return false;
}

void remember(instance& self, ration_column const& c) noexcept {
    // Not there, or of a later host
    if (c.slot == RATION_NO_SLOT || c.table >= tables || c.type < RATION_U32 || c.type > RATION_F64) return;
    if (c.flags != 0 || c.reserved != 0)
        see(self, 15, "bind: %s has flags %#x and reserved %#x, which are zero", c.name, c.flags, c.reserved);
    if (self.column_count == most_columns) return;
    auto& mine = self.columns[self.column_count++];
    std::strncpy(mine.name, c.name, sizeof mine.name - 1);
    mine.table = c.table;
    mine.type = c.type;
    mine.width = c.width;
    mine.slot = c.slot;
    if (self.slots_bound[c.table] <= c.slot) self.slots_bound[c.table] = c.slot + 1;
}

/// H13: the table has not the slots that `bind` named, or other ones than at the last tick.
[[nodiscard]] bool has_its_slots(instance& self, std::uint32_t t, ration_table const& table) noexcept {
    if (table.n_slots < self.slots_bound[t]) {
        see(self, 13, "table %u has %u slots, and bind named slot %u of it", t, table.n_slots, self.slots_bound[t] - 1);
        return false;
    }
    auto& shown = self.slots_shown[t];
    if (shown != 0 && shown != table.n_slots + 1)
        see(self, 13, "table %u has %u slots after %u, and bind was not called in between", t, table.n_slots,
            shown - 1);
    shown = table.n_slots + 1;
    return true;
}

[[nodiscard]] bool inspect_table(instance& self, std::uint32_t t, ration_tick const& tick) noexcept {
    if (self.slots_bound[t] == 0) return true;  // nothing of it was bound
    if (t >= tick.n_tables || tick.table[t] == nullptr) {
        see(self, 13, "table %u has bound columns and is not there", t);
        return false;
    }
    auto const& table = *tick.table[t];
    if (table.struct_size < sizeof table || table.struct_size > 65536) {
        see(self, 15, "table %u has struct_size %u", t, table.struct_size);
        return false;
    }
    if (table.n_rows > self.most[t]) {
        see(self, 6, "table %u has %llu rows, and bind said %llu at most", t,
            static_cast<unsigned long long>(table.n_rows), static_cast<unsigned long long>(self.most[t]));
        return false;
    }
    return has_its_slots(self, t, table);
}

/// The padding of a column on a line of 64 bytes is within that line's page. Reading it cannot fault where the values
/// can be read. So a host that keeps H4 also keeps "readable to 64 bytes"; the padding is not checked when H4 is
/// broken.
void inspect_padding(instance& self, column const& c, unsigned char const* values, std::uint64_t rows) noexcept {
    std::size_t const used = rows * c.width * size_of(c.type);
    for (std::size_t i = used; i % line != 0; ++i)
        if (values[i] != 0) {
            see(self, 5, "%s: byte %zu behind its %llu rows is not zero", c.name, i - used,
                static_cast<unsigned long long>(rows));
            return;
        }
}

[[nodiscard]] bool inspect_column(instance& self, column const& c, ration_table const& table) noexcept {
    if (table.slot == nullptr || table.slot[c.slot] == nullptr) {
        see(self, 7, "%s is bound, and its slot is null at %llu rows", c.name,
            static_cast<unsigned long long>(table.n_rows));
        return false;
    }
    auto const* const values = static_cast<unsigned char const*>(table.slot[c.slot]);
    if (reinterpret_cast<std::uintptr_t>(values) % line != 0)
        see(self, 4, "%s begins at %p, which is no multiple of 64", c.name, static_cast<void const*>(values));
    else
        inspect_padding(self, c, values, table.n_rows);
    return true;
}

}  // namespace

bool bind_columns(instance& self, ration_schema const& schema) noexcept {
    self.column_count = 0;
    for (std::uint32_t t = 0; t < tables; ++t) {
        self.slots_bound[t] = self.slots_shown[t] = 0;
        self.most[t] = UINT64_MAX;
    }
    self.most[RATION_JOBS] = schema.max_jobs;
    self.most[RATION_NODES] = schema.max_nodes;
    self.most[RATION_TENANTS] = schema.max_tenants;
    self.most_grants = schema.max_grants;
    auto const* place = reinterpret_cast<unsigned char const*>(schema.column);
    for (std::uint32_t i = 0; i < schema.n_columns; ++i, place += schema.column_stride) {
        ration_column c;
        std::memcpy(&c, place, sizeof c);
        remember(self, c);
    }
    return find(self, "jobs/id", RATION_U64, self.slot.id) && find(self, "jobs/state", RATION_U32, self.slot.state) &&
           find(self, "jobs/min.cpu", RATION_I64, self.slot.least) &&
           find(self, "jobs/held.cpu", RATION_I64, self.slot.held) &&
           find(self, "nodes/capacity.cpu", RATION_I64, self.slot.capacity);
}

bool inspect_tables(instance& self, ration_tick const& tick) noexcept {
    bool readable = true;
    for (std::uint32_t t = 0; t < tables; ++t) readable = inspect_table(self, t, tick) && readable;
    for (std::uint32_t i = 0; readable && i < self.column_count; ++i)
        readable = inspect_column(self, self.columns[i], *tick.table[self.columns[i].table]);
    return readable;
}

}  // namespace leak_check
