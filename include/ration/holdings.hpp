// SPDX-License-Identifier: BSL-1.0
/// What jobs hold, shown to policies as columns.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/ledger.hpp>
#include <ration/standard_columns.hpp>

namespace ration {

/// Fills jobs/held.* (summed over nodes; `unlimited` if so on any) and nodes/free.*. O(jobs + holdings + nodes x resources).
inline void show_holdings(ledger const& held, snapshot_store& store, standard_columns const& columns) noexcept {
    auto const of = [&](resource_id r) -> resource_columns const& { return columns.resources[static_cast<std::size_t>(r)]; };
    std::size_t const jobs = store.rows(table_id::jobs);
    for (auto const& r : columns.resources)
        for (std::size_t row = 0; row < jobs; ++row) store.at(r.held, row) = 0;
    std::size_t row = 0;
    for (auto const& h : held.all()) {
        while (row < jobs && store.at(columns.id, row) < h.what.job.value) ++row;
        if (row == jobs || store.at(columns.id, row) != h.what.job.value) continue;
        auto& shown = store.at(of(h.what.resource).held, row);
        shown = h.what.amount == unlimited || shown == unlimited ? unlimited : shown + h.what.amount;
    }
    for (std::size_t r = 0; r < columns.resources.size(); ++r)
        for (std::uint32_t node = 0; node < store.rows(table_id::nodes); ++node) {
            auto const& c = columns.resources[r];
            store.at(c.free, node) = store.at(c.capacity, node) - held.sum(node, static_cast<resource_id>(r));
        }
}

}  // namespace ration
