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

/// Updates nodes/free.*, for a host whose capacities may have changed. O(nodes x resources).
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

/// Updates jobs/held.* of one row: sums over nodes; `unlimited` if the job has no limit on any of
/// them.
inline void show_job(holding_range held, std::size_t row, snapshot_store& store,
                     standard_columns const& columns) noexcept {
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

/// Updates the table `held` from row `first` on.
inline void show_table(ledger const& held, std::size_t first, snapshot_store& store,
                       standard_columns const& columns) noexcept {
    auto const& all = held.all();
    if (first == all.size() && store.rows(table_id::held) == first) return;
    if (!store.resize(table_id::held, all.size())) return;  // shorter than the holdings if memory has run out
    for (std::size_t i = first; i < all.size(); ++i) {
        setting const& s = all[i].what;
        store.at(columns.held_job, i) = s.job.value;
        store.at(columns.held_node, i) = s.node;
        store.at(columns.held_resource, i) = static_cast<std::uint32_t>(s.resource);
        store.at(columns.held_amount, i) = s.amount;
    }
}

}  // namespace detail

/// Writes jobs/held.* (sums over nodes; `unlimited` if the job has no limit on one), nodes/free.*
/// and the table held. Returns false if a job without a row holds something. O(jobs + holdings +
/// nodes x resources).
inline bool show_holdings(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    std::uint64_t const* const ids = store.data(columns.id);
    holding const *next = held.all().begin(), *const end = held.all().end();
    std::size_t shown = 0;
    // Rows and holdings are both sorted by job id, so one merge pass is enough.
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

/// Writes only the changes since the last call. Precondition: rows and capacities are unchanged
/// since. O(log jobs + its holdings) for each job whose holdings have changed.
inline void show_changes(ledger& held, snapshot_store& store, standard_columns const& columns) noexcept {
    ledger_changes const& changes = held.changes();
    if (!changes.any()) return;
    bool all_shown = true;  // a job without a row is tried again at the next call
    if (changes.everything) {
        all_shown = show_holdings(held, store, columns);
    } else {
        job_id last{};
        for (std::size_t i = 0; i < changes.count; ++i) {
            auto const& [job, node, resource] = changes.places[i];
            auto const& c = columns.resources[static_cast<std::size_t>(resource)];
            store.at(c.free, node) = store.at(c.capacity, node) - held.sum(node, resource);
            // Changes of one job are usually listed together, so it is written once.
            if (job != last) all_shown &= detail::show_job(job, held, store, columns);
            last = job;
        }
        detail::show_table(held, changes.first, store, columns);
    }
    if (all_shown) held.forget_changes();
}

}  // namespace ration
