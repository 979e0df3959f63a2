// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <ration/column.hpp>
#include <ration/host/rng_sequence.hpp>

namespace ration::conformance {
namespace {

constexpr unsigned char garbage = 0xAB;
constexpr std::size_t slack = 8192;            // beyond an inexact scratch
constexpr std::uint32_t own_width = 9;         // of a vector that only this plugin reads
constexpr std::uint64_t budget = 100'000'000;  // ns

/// The plugin's own columns join those of every host, and all are put into an order that a plugin cannot guess.
[[nodiscard]] std::vector<offered_column> offer_to(subject const& s, std::uint64_t seed) {
    testing::synthetic_cluster const cluster(cluster_of(1));
    std::vector<offered_column> all;
    for (auto const& c : cluster.store().schema())
        all.push_back({std::string(c.name.view()), static_cast<std::uint32_t>(c.table),
                       static_cast<std::uint32_t>(c.type), c.width, 0, c.slot});
    for (auto const& need : s.needs) {
        if (auto const known = std::ranges::find(all, need.name, &offered_column::name); known != all.end()) {
            known->is_needed = true;
            continue;
        }
        all.push_back({need.name, static_cast<std::uint32_t>(table_index_of(need.name)),
                       static_cast<std::uint32_t>(need.type), need.shape == column_shape::vector ? own_width : 1, 0,
                       RATION_NO_SLOT, true});
    }
    rng_sequence order(seed);
    order.shuffle(all);
    std::uint32_t next[ration::table_count] = {};
    for (auto& column : all) column.slot = next[column.table]++;
    order.shuffle(all);
    return all;
}

void add_columns_of_a_later_host(std::vector<offered_column>& all) {
    all.insert(all.begin(), {"racks/power", 9, RATION_F64, 1, 0});
    all.push_back({"jobs/embedding", RATION_JOBS, 77, 1, RATION_NO_SLOT});
}

void apply(schema_options const& options, std::vector<offered_column>& all) {
    if (options.empty) all.clear();
    if (options.only_needs) std::erase_if(all, [](auto const& c) { return !c.is_needed; });
    if (options.of_later_host) add_columns_of_a_later_host(all);
    std::erase_if(all, [&](auto const& c) { return c.name == options.without; });
    for (auto& column : all) {
        if (column.name == options.without_slot) column.slot = RATION_NO_SLOT;
        if (column.name == options.mistyped) column.type = column.type == RATION_F32 ? RATION_I64 : RATION_F32;
    }
}

[[nodiscard]] std::size_t bytes_for(std::vector<offered_column> const& all, std::size_t stride) {
    std::size_t bytes = all.size() * stride + resource_count * sizeof(char const*);
    for (auto const& column : all) bytes += column.name.size() + 1;
    for (auto const& r : testing::synthetic_resources) bytes += r.name.size() + 1;
    return bytes;
}

/// Copies a name and its zero byte, and returns the first byte behind it.
[[nodiscard]] char* store_name(char* place, std::string_view name) {
    std::memcpy(place, name.data(), name.size());
    place[name.size()] = '\0';
    return place + name.size() + 1;
}

/// Small numbers, the same for the same place.
void store_made_up(std::byte* place, std::uint32_t type, std::size_t row, std::size_t k) {
    auto const value = static_cast<std::uint32_t>((row * 7 + k * 3) % 5);
    auto const put = [&](auto typed) { std::memcpy(place, &typed, sizeof typed); };
    switch (type) {
        case RATION_U32: return put(value);
        case RATION_I64: return put(std::int64_t{value});
        case RATION_U64: return put(std::uint64_t{value});
        case RATION_F32: return put(static_cast<float>(value));
        default: return put(static_cast<double>(value));
    }
}

}  // namespace

schema_image::schema_image(std::vector<offered_column> columns, schema_options const& options)
    : space_("the schema, which is gone after bind", 1 << 17) {
    apply(options, columns);
    std::size_t const stride = sizeof(ration_column) + options.extra_stride;
    auto* const first = space_.place(bytes_for(columns, stride), alignof(ration_column));
    auto** const resource_name = reinterpret_cast<char const**>(first);
    auto* const records = first + resource_count * sizeof(char const*);
    auto* name = reinterpret_cast<char*>(records + columns.size() * stride);
    std::memset(records, garbage, columns.size() * stride);
    for (std::size_t r = 0; r < resource_count; ++r) {
        resource_name[r] = name;
        name = store_name(name, testing::synthetic_resources[r].name);
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto const& c = columns[i];
        ration_column const record{name, c.table, c.type, c.width, c.slot, 0, 0};
        std::memcpy(records + i * stride, &record, sizeof record);
        name = store_name(name, c.name);
    }
    schema_ = {sizeof schema_,
               static_cast<std::uint32_t>(columns.size()),
               static_cast<std::uint32_t>(stride),
               resource_count,
               options.small ? 1 : most_jobs,
               options.small ? 1 : most_nodes,
               options.small ? resource_count : most_grants,
               reinterpret_cast<ration_column const*>(records),
               testing::synthetic_tenants,
               resource_name};
    space_.make_read_only();
}

tables::tables(subject const& s, std::uint64_t seed) : columns_(offer_to(s, seed)), seed_(seed) {
    for (auto const& column : columns_) {
        std::size_t const rows = column.table == RATION_HELD ? most_rows : most_jobs;
        values_.push_back(
            std::make_unique<guarded>(column.name.c_str(), rows * column.width * column.value_size() + 64));
    }
    frame_ = reinterpret_cast<frame*>(frame_space_.place(sizeof(frame), 64));
    make_scratch(0, false);
}

void tables::make_scratch(std::uint64_t size, bool exact) {
    scratch_size_ = size;
    scratch_is_exact_ = exact;
    scratch_space_ = std::make_unique<guarded>("the scratch", size + slack);
}

std::byte* tables::fresh_scratch() {
    auto* const first = scratch_space_->place(scratch_size_ + (scratch_is_exact_ ? 0 : slack), 64);
    std::memset(first, garbage, scratch_size_);  // its contents are undefined
    return first;
}

void tables::show(testing::synthetic_cluster const& cluster, std::uint64_t tick, bool cancelled,
                  table_changes const* const* changes) {
    fill_frame(cluster, tick, cancelled);
    if (changes != nullptr) fill_changes(changes);
    for (std::size_t i = 0; i < columns_.size(); ++i)
        fill(i, cluster.store().view(), frame_->table[columns_[i].table].n_rows);
}

void tables::fill(std::size_t index, snapshot const& from, std::size_t rows) {
    auto const& column = columns_[index];
    std::size_t const bytes = rows * column.width * column.value_size();
    auto* place = values_[index]->place(bytes, 64);
    frame_->slots[column.table][column.slot] = place;
    if (column.slot_in_cluster != RATION_NO_SLOT) {
        if (bytes > 0)
            std::memcpy(place, from[static_cast<table_id>(column.table)].slot[column.slot_in_cluster], bytes);
        return;
    }
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t k = 0; k < column.width; ++k, place += column.value_size())
            store_made_up(place, column.type, row, k);
}

void tables::fill_frame(testing::synthetic_cluster const& cluster, std::uint64_t tick, bool cancelled) {
    std::size_t const rows[shown_tables] = {cluster.jobs().size(), cluster.nodes(),
                                            cluster.store().rows(table_id::held),
                                            cluster.store().rows(table_id::tenants), 1};
    for (std::size_t t = 0; t < shown_tables; ++t) {
        auto const slots = std::ranges::count(columns_, t, &offered_column::table);
        frame_->table[t] = {sizeof(ration_table), static_cast<std::uint32_t>(slots), rows[t], frame_->slots[t]};
        frame_->pointers[t] = &frame_->table[t];
    }
    frame_->cancel = cancelled ? 1 : 0;
    // A later host has more tables than this version: every other tick has one more.
    std::uint32_t const n_tables = tick % 2 == 0 ? ration::table_count : shown_tables;
    frame_->tick = {
        sizeof(ration_tick), n_tables,        tick,          seed_ + tick, cluster.now().count, budget, &frame_->cancel,
        frame_->pointers,    fresh_scratch(), scratch_size_, nullptr};
}

void tables::fill_changes(table_changes const* const* changes) noexcept {
    frame& f = *frame_;
    for (std::size_t t = 0; t < shown_tables; ++t) {
        table_changes const& from = t < ration::table_count ? *changes[t] : everything_changed;
        // Columns of this plugin alone have their values by row, so that they all change when rows move.
        bool const has_own = std::ranges::any_of(columns_, [&](offered_column const& c) {
            return c.table == t && c.slot_in_cluster == RATION_NO_SLOT && c.slot != RATION_NO_SLOT;
        });
        bool const any = from.everything != 0 || (has_own && from.moved != 0);
        std::size_t const count = any ? 0 : from.count;
        std::copy_n(from.row, count, f.changed_row[t]);
        std::copy_n(from.groups, count, f.changed_groups[t]);
        std::copy_n(from.at, count, f.changed_at[t]);
        f.changes[t] = {sizeof(ration_changes),
                        any ? std::uint16_t{1} : std::uint16_t{0},
                        from.moved,
                        count,
                        f.changed_row[t],
                        f.changed_groups[t],
                        f.changed_at[t]};
        f.pointers_to_changes[t] = &f.changes[t];
    }
    f.tick.changes = f.pointers_to_changes;
}

void tables::lock() noexcept {
    for (auto const& place : values_) place->make_read_only();
    frame_space_.make_read_only();
}

void tables::hide() noexcept {
    for (auto const& place : values_) place->make_unreachable();
    frame_space_.make_unreachable();
    scratch_space_->make_unreachable();
}

void tables::unlock() noexcept {
    for (auto const& place : values_) place->make_writable();
    frame_space_.make_writable();
}

}  // namespace ration::conformance
