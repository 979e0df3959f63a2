// SPDX-License-Identifier: BSL-1.0
/// Tenants: the owners of jobs, as a tree with weights, quotas and limits.
///
/// A host describes its tenants once, and writes them into the table `tenants` (host/tenants.hpp). A policy reads the
/// columns of that table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ration/resource.hpp>

namespace ration {

/// Value of `tenants/parent` for a tenant without a parent, and of `jobs/tenant` for a job of none.
inline constexpr std::uint32_t no_tenant = 0xFFFF'FFFF;

/// An amount of each standard resource, in its unit; index = `resource_id`.
using tenant_amounts = std::array<std::int64_t, std::size(standard_resources)>;

/// The same amount of each resource.
[[nodiscard]] constexpr tenant_amounts all_amounts(std::int64_t amount) noexcept {
    tenant_amounts all{};
    for (auto& one : all) one = amount;
    return all;
}

/// A tenant. Its holdings and demands are sums over its own jobs and over those of the tenants below it. Amounts of
/// settings, such as the batch, have no effect.
struct tenant_description {
    std::uint64_t id = 0;              ///< above 0
    std::uint32_t parent = no_tenant;  ///< index of an earlier tenant
    double weight = 1;                 ///< its part among the tenants of one parent; above 0
    /// The amount that it can always have back.
    tenant_amounts quota = all_amounts(0);
    /// The amount that it never exceeds.
    tenant_amounts limit = all_amounts(unlimited);
    /// The part of its quota that others may have while it does not need it.
    tenant_amounts lend = all_amounts(unlimited);
};

}  // namespace ration
