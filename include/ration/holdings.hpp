// SPDX-License-Identifier: BSL-1.0
/// What jobs hold, shown to policies as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/ledger.hpp>
#include <ration/standard_columns.hpp>

namespace ration {

namespace detail {

/// jobs/held.* of one row: sums over nodes; `unlimited` if so on any.
inline void show_job(std::span<holding const> held, std::size_t row, snapshot_store& store, standard_columns const& columns) noexcept {
    for (auto const& r : columns.resources) store.at(r.held, row) = 0;
    for (auto const& h : held) {
        auto& shown = store.at(columns.resources[static_cast<std::size_t>(h.what.resource)].held, row);
        shown = h.what.amount == unlimited || shown == unlimited ? unlimited : shown + h.what.amount;
    }
}

/// The same of one job; false when it holds something and has no row.
[[nodiscard]] inline bool show_job(job_id job, ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    auto const all = held.of(job);
    std::size_t const row = row_of(store, columns, job);
    if (row == store.rows(table_id::jobs)) return all.empty();
    show_job(all, row, store, columns);
    return true;
}

/// nodes/free.*.
inline void show_free(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    for (std::size_t r = 0; r < columns.resources.size(); ++r) {
        auto const& c = columns.resources[r];
        auto const sums = held.sums(static_cast<resource_id>(r));
        std::int64_t const* const capacity = store[c.capacity].data();
        std::int64_t* const free = store[c.free].data();
        for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node) free[node] = capacity[node] - sums[node];
    }
}

/// The table `held` from row `first` on.
inline void show_table(ledger const& held, std::size_t first, snapshot_store& store, standard_columns const& columns) noexcept {
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
    auto const ids = store[columns.id];
    auto const all = held.all().view();
    std::size_t next = 0, shown = 0;
    for (std::size_t row = 0; row < ids.size(); ++row) {
        while (next < all.size() && all[next].what.job.value < ids[row]) ++next;
        std::size_t last = next;
        while (last < all.size() && all[last].what.job.value == ids[row]) ++last;
        detail::show_job(all.subspan(next, last - next), row, store, columns);
        shown += last - next;
        next = last;
    }
    detail::show_table(held, 0, store, columns);
    detail::show_free(held, store, columns);
    return shown == all.size();
}

/// The same for a store that shows what `held` held at the last call, and whose rows have kept what they show: O(nodes x
/// resources), and O(log jobs + its holdings) for each job whose holdings have changed.
inline void show_changes(ledger& held, snapshot_store& store, standard_columns const& columns) noexcept {
    ledger_changes const& changes = held.changes();
    bool all_shown = true;  // a job without a row is looked for again
    if (changes.everything) {
        all_shown = show_holdings(held, store, columns);
    } else {
        for (job_id const job : changes.jobs) all_shown &= detail::show_job(job, held, store, columns);
        detail::show_table(held, changes.first, store, columns);
        detail::show_free(held, store, columns);
    }
    if (all_shown) held.forget_changes();
}

}  // namespace ration
