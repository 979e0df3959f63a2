// SPDX-License-Identifier: BSL-1.0
/// The CPU that the limits of tenants leave to a job without a grant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ration/host/standard_columns.hpp>
#include <ration/resource.hpp>

namespace ration::program {

/// Millicores that the limits of the job's tenant and of those above it leave to the job in this row, at least the
/// smallest grant; `unlimited` without a limit. They count as held until the engine writes its sums again.
[[nodiscard]] inline std::int64_t take_cpu_of_tenant(snapshot_store& store, standard_columns const& columns,
                                                     std::size_t row) noexcept {
    auto const parents = store[columns.tenants.parent];
    auto const& cpu = columns.resources[static_cast<std::size_t>(resource_id::cpu)].of_tenants;
    auto const limit = store[cpu.limit];
    auto const held = store[cpu.held];
    std::uint32_t const owner = store[columns.get<"jobs/tenant">()][row];
    std::int64_t left = unlimited;
    for (auto t = owner; t < parents.size(); t = parents[t])
        if (limit[t] != unlimited) left = std::min(left, limit[t] - held[t]);
    if (left == unlimited) return left;
    left = std::max(left, least_cpu.count);
    for (auto t = owner; t < parents.size(); t = parents[t]) held[t] += left;
    return left;
}

}  // namespace ration::program
