// SPDX-License-Identifier: BSL-1.0
// Tenants with quotas, for the tests of policies that keep to them.
#pragma once

#include <cstdint>
#include <vector>

#include <ration/policies/detail/tenant_gate.hpp>
#include <ration/tenant.hpp>

#include "cluster_host.hpp"

namespace unit {

using rule = ration::policies::tenant_rule;

inline constexpr auto gpu_index = static_cast<std::size_t>(resource_id::gpu);

/// Tenants without a parent, with these quotas of devices, all of which they lend.
[[nodiscard]] inline std::vector<ration::tenant_description> with_quotas(std::vector<std::int64_t> const& devices) {
    std::vector<ration::tenant_description> all(devices.size());
    for (std::size_t t = 0; t < all.size(); ++t) {
        all[t].id = t + 1;
        all[t].quota[gpu_index] = devices[t];
    }
    return all;
}

template <class P>
void submit(cluster<P>& c, std::uint32_t tenant, std::int64_t devices, int jobs = 1) {
    for (int i = 0; i < jobs; ++i) c.submit({.request = devices, .tenant = tenant});
}

/// Limits of tenants, and quotas that change, so that jobs are taken back. For `policy_law_options::fill`.
inline void change_quotas(ration::snapshot_store& store, std::uint64_t tick) {
    auto const quota = must(store.find<std::int64_t>("tenants/quota.gpu")),
               lend = must(store.find<std::int64_t>("tenants/lend.gpu")),
               limit = must(store.find<std::int64_t>("tenants/limit.gpu"));
    for (std::size_t t = 0; t < store.rows(table_id::tenants); ++t) {
        store[quota][t] = static_cast<std::int64_t>((tick / 20 + t) % 4);
        store[lend][t] = store[quota][t] / 2;
        store[limit][t] = tick == 0 ? ration::unlimited : 6;
    }
}

}  // namespace unit
