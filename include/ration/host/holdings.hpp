// SPDX-License-Identifier: BSL-1.0
/// What jobs hold, shown to policies as columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/host/ledger.hpp>
#include <ration/host/standard_columns.hpp>

namespace ration {

/// nodes/free.*, for a host whose nodes' capacities may have changed. O(nodes x resources).
inline void show_free(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    for (std::size_t r = 0; r < columns.resources.size(); ++r) {
        auto const& c = columns.resources[r];
        std::int64_t const* const sums = held.sums(static_cast<resource_id>(r));
        std::int64_t const* const capacity = store.data(c.capacity);
        std::int64_t* const free = store.data(c.free);
        for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node) free[node] = capacity[node] - sums[node];
    }
}

namespace detail {

/// jobs/held.* of one row: sums over nodes; `unlimited` if so on any.
inline void show_job(holding_range held, std::size_t row, snapshot_store& store,
                     standard_columns const& columns) noexcept {
    for (auto const& r : columns.resources) store.at(r.held, row) = 0;
    for (auto const& h : held) {
        auto& shown = store.at(columns.resources[static_cast<std::size_t>(h.what.resource)].held, row);
        shown = h.what.amount == unlimited || shown == unlimited ? unlimited : shown + h.what.amount;
    }
}

/// The same of one job; false when it holds something and has no row.
[[nodiscard]] inline bool show_job(job_id job, ledger const& held, snapshot_store& store,
                                   standard_columns const& columns) noexcept {
    auto const all = held.of(job);
    std::size_t const row = row_of(store, columns, job);
    if (row == store.rows(table_id::jobs)) return all.first == all.last;
    show_job(all, row, store, columns);
    return true;
}

/// The table `held` from row `first` on.
inline void show_table(ledger const& held, std::size_t first, snapshot_store& store,
                       standard_columns const& columns) noexcept {
    auto const& all = held.all();
    if (first == all.size() && store.rows(table_id::held) == first) return;
    if (!store.resize(table_id::held, all.size())) return;  // shorter than what is held, if memory has run out
    for (std::size_t i = first; i < all.size(); ++i) {
        setting const& s = all[i].what;
        store.at(columns.held_job, i) = s.job.value;
        store.at(columns.held_node, i) = s.node;
        store.at(columns.held_resource, i) = static_cast<std::uint32_t>(s.resource);
        store.at(columns.held_amount, i) = s.amount;
    }
}

}  // namespace detail

/// Fills jobs/held.* (summed over nodes; `unlimited` if so on any), nodes/free.* and the table held.
/// False when a job holds something and has no row. O(jobs + holdings + nodes x resources).
inline bool show_holdings(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    std::uint64_t const* const ids = store.data(columns.id);
    holding const *next = held.all().begin(), *const end = held.all().end();
    std::size_t shown = 0;
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
        while (next != end && next->what.job.value < ids[row]) ++next;
        holding const* const first = next;
        while (next != end && next->what.job.value == ids[row]) ++next;
        detail::show_job({first, next}, row, store, columns);
        shown += static_cast<std::size_t>(next - first);
    }
    detail::show_table(held, 0, store, columns);
    show_free(held, store, columns);
    return shown == held.all().size();
}

/// The same for a store that shows what `held` held at the last call, and whose rows and capacities are what they were:
/// O(log jobs + its holdings) for each job whose holdings have changed.
inline void show_changes(ledger& held, snapshot_store& store, standard_columns const& columns) noexcept {
    ledger_changes const& changes = held.changes();
    if (!changes.any()) return;
    bool all_shown = true;  // a job without a row is looked for again
    if (changes.everything) {
        all_shown = show_holdings(held, store, columns);
    } else {
        job_id last{};
        for (std::size_t i = 0; i < changes.count; ++i) {
            auto const& [job, node, resource] = changes.places[i];
            auto const& c = columns.resources[static_cast<std::size_t>(resource)];
            store.at(c.free, node) = store.at(c.capacity, node) - held.sum(node, resource);
            if (job != last) all_shown &= detail::show_job(job, held, store, columns);
            last = job;
        }
        detail::show_table(held, changes.first, store, columns);
    }
    if (all_shown) held.forget_changes();
}

}  // namespace ration
