// SPDX-License-Identifier: BSL-1.0
/// Writes a host's tenants into the table `tenants`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/host/standard_columns.hpp>
#include <ration/result.hpp>
#include <ration/target.hpp>
#include <ration/tenant.hpp>

namespace ration {

namespace detail {

/// The name of the column with the first invalid value of a tenant, or nullptr.
[[nodiscard]] inline char const* invalid_column(tenant_description const& tenant, std::size_t row) noexcept {
    auto const is_amount = [](std::int64_t n) { return (n >= 0 && n <= max_amount) || n == unlimited; };
    if (tenant.id == 0) return "tenants/id";
    if (tenant.parent != no_tenant && tenant.parent >= row) return "tenants/parent";
    if (!(tenant.weight > 0) || !is_finite(tenant.weight)) return "tenants/weight";
    for (std::size_t r = 0; r < std::size(standard_resources); ++r) {
        if (tenant.quota[r] < 0 || tenant.quota[r] > max_amount) return "tenants/quota";
        if (!is_amount(tenant.limit[r])) return "tenants/limit";
        if (!is_amount(tenant.lend[r])) return "tenants/lend";
    }
    return nullptr;
}

}  // namespace detail

/// Makes the table: one row for each tenant, in their order. A resource that is not standard has no limit. Columns that
/// the engine has written there (`held`, `demand`, `usage` and the numbers of jobs) stay. Errors: `invalid_value` with
/// the column of the first invalid value; `no_capacity`. O(tenants x resources).
[[nodiscard]] inline result<void> fill_tenants(snapshot_store& store, standard_columns const& columns,
                                               std::span<tenant_description const> tenants) noexcept {
    for (std::size_t row = 0; row < tenants.size(); ++row)
        if (auto const* const wrong = detail::invalid_column(tenants[row], row); wrong != nullptr)
            return error{
                .code = errc::invalid_value,
                .operation = "fill tenants table",
                .subject = wrong,
                .remedy = "use ids and weights above 0, amounts up to 2^53, and parents before their children"};
    if (auto const sized = store.resize(table_id::tenants, tenants.size()); !sized) return sized;
    for (std::size_t row = 0; row < tenants.size(); ++row) {
        auto const& tenant = tenants[row];
        store.at(columns.get<"tenants/id">(), row) = tenant.id;
        store.at(columns.tenants.parent, row) = tenant.parent;
        store.at(columns.get<"tenants/weight">(), row) = tenant.weight;
        for (std::size_t r = 0; r < columns.resources.size(); ++r) {
            auto const& c = columns.resources[r].of_tenants;
            bool const is_standard = r < std::size(standard_resources);
            store.at(c.limit, row) = is_standard ? tenant.limit[r] : unlimited;
            if (!is_standard) continue;
            store.at(c.quota, row) = tenant.quota[r];
            store.at(c.lend, row) = tenant.lend[r] < tenant.quota[r] ? tenant.lend[r] : tenant.quota[r];
        }
    }
    store.changes().mark_all(table_id::tenants);
    return {};
}

}  // namespace ration
