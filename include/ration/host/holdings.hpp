// SPDX-License-Identifier: BSL-1.0
/// Writes the ledger into the columns that policies read: jobs/held.*, nodes/free.* and the table
/// held.
///
/// Called by the engine around each decision, and by `allocate`.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/host/ledger.hpp>
#include <ration/host/standard_columns.hpp>

namespace ration {

/// Updates nodes/free.* of one node. O(resources).
inline void show_free_of(std::size_t node, ledger const& held, snapshot_store& store,
                         standard_columns const& columns) noexcept {
    for (std::size_t r = 0; r < columns.resources.size(); ++r)
        if (auto const& c = columns.resources[r]; !c.is_setting)
            store.at(c.free, node) =
                store.at(c.capacity, node) - held.sum(static_cast<std::uint32_t>(node), static_cast<resource_id>(r));
}

/// Updates nodes/free.*, for a host whose capacities may have changed. O(nodes x resources).
inline void show_free(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    for (std::size_t r = 0; r < columns.resources.size(); ++r) {
        auto const& c = columns.resources[r];
        if (c.is_setting) continue;
        std::int64_t const* const sums = held.sums(static_cast<resource_id>(r));
        std::int64_t const* const capacity = store.data(c.capacity);
        std::int64_t* const free = store.data(c.free);
        for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node) free[node] = capacity[node] - sums[node];
    }
}

namespace detail {

/// Forgets all holdings, and allocates for these numbers of nodes and rows. Settings are not shared, so their
/// amounts have no sum.
inline void reset(ledger& held, standard_columns const& columns, std::size_t nodes, std::size_t rows) noexcept {
    held.reset(nodes, columns.resources.size(), rows);
    for (std::size_t r = 0; r < columns.resources.size(); ++r)
        if (columns.resources[r].is_setting) held.omit_sums(static_cast<resource_id>(r));
}

/// Updates jobs/held.* of one row: sums over nodes; `unlimited` if the job has no limit on any of
/// them.
inline void show_job(holding_range held, std::size_t row, snapshot_store& store,
                     standard_columns const& columns) noexcept {
    store.changes().mark(table_id::jobs, row, held_columns);
    for (auto const& r : columns.resources) store.at(r.held, row) = 0;
    for (auto const& h : held) {
        auto& shown = store.at(columns.resources[static_cast<std::size_t>(h.what.resource)].held, row);
        shown = h.what.amount == unlimited || shown == unlimited ? unlimited : shown + h.what.amount;
    }
}

/// The same for one job. Returns false if it holds something and has no row.
[[nodiscard]] inline bool show_job(job_id job, ledger const& held, snapshot_store& store,
                                   standard_columns const& columns) noexcept {
    auto const all = held.of(job);
    std::size_t const row = row_of(store, columns, job);
    if (row == store.rows(table_id::jobs)) return all.first == all.last;
    show_job(all, row, store, columns);
    return true;
}

/// Updates these rows of the table `held`. A vacant slot is a row with the amount 0.
inline void show_slots(ledger const& held, slot_range changed, snapshot_store& store,
                       standard_columns const& columns) noexcept {
    std::size_t const last = changed.last < held.slots().size() ? changed.last : held.slots().size();
    for (std::size_t i = changed.first; i < last; ++i) {
        setting const& s = held.slots()[i].what;
        store.at(columns.held_job, i) = s.job.value;
        store.at(columns.held_node, i) = s.node;
        store.at(columns.held_resource, i) = static_cast<std::uint32_t>(s.resource);
        store.at(columns.held_amount, i) = s.amount;
    }
}

/// Gives the table `held` a row for each slot. Returns false if memory has run out; then it stays shorter.
[[nodiscard]] inline bool size_table(ledger const& held, snapshot_store& store) noexcept {
    std::size_t const slots = held.slots().size();
    return store.rows(table_id::held) == slots || store.resize(table_id::held, slots);
}

}  // namespace detail

/// Writes jobs/held.* (sums over nodes; `unlimited` if the job has no limit on one), nodes/free.*
/// and the table held. Returns false if a job without a row holds something. O(jobs + holdings +
/// nodes x resources).
inline bool show_holdings(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    std::uint64_t const* const ids = store.data(columns.id);
    ledger::walk walk(held);
    std::size_t shown = 0;
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
        holding_range const owned = walk.of({ids[row]});
        detail::show_job(owned, row, store, columns);
        shown += static_cast<std::size_t>(owned.last - owned.first);
    }
    if (detail::size_table(held, store)) detail::show_slots(held, {0, held.slots().size()}, store, columns);
    show_free(held, store, columns);
    for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node)
        store.changes().mark(table_id::nodes, node, held_columns);
    return shown == held.all().size();
}

/// Writes only the changes since the last call. Precondition: rows and capacities are unchanged
/// since. O(log jobs + its holdings) for each job whose holdings have changed, and O(1) for each changed row of the
/// table held.
inline void show_changes(ledger& held, snapshot_store& store, standard_columns const& columns) noexcept {
    ledger_changes const& changes = held.changes();
    if (!changes.any()) return;
    bool all_shown = true;  // a job without a row is tried again at the next call
    if (changes.everything) {
        all_shown = show_holdings(held, store, columns);
    } else {
        job_id last{};
        bool const sized = detail::size_table(held, store);
        for (auto const& [job, node, resource, slots] : changes.places) {
            auto const& c = columns.resources[static_cast<std::size_t>(resource)];
            if (!c.is_setting) store.at(c.free, node) = store.at(c.capacity, node) - held.sum(node, resource);
            store.changes().mark(table_id::nodes, node, held_columns);
            // Changes of one job are usually listed together, so it is written once.
            if (job != last) all_shown &= detail::show_job(job, held, store, columns);
            last = job;
            if (sized) detail::show_slots(held, slots, store, columns);
        }
    }
    if (all_shown) held.forget_changes();
}

}  // namespace ration
