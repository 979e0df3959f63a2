// SPDX-License-Identifier: BSL-1.0
/// Division of the processors of one node among its jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/ledger.hpp>

namespace ration::sim {

/// A job on a node.
struct cpu_claim {
    /// Its row, and the node.
    std::uint32_t row = 0, node = 0;
    /// The cores that it may use: what it can use, and its limit; and the cores that it gets.
    double most = 0, given = 0;
};

/// Divides cores as a fair scheduler with equal weights does. No job gets more than it can use,
/// cores that one job leaves go to the others, and no core is idle while a job could use it. Sorts
/// `claims`. O(n log n).
inline void share_fairly(std::span<cpu_claim> claims, double cores) noexcept {
    ration::detail::sort(claims.data(), claims.size(), [](cpu_claim const& a, cpu_claim const& b) {
        return a.most != b.most ? a.most < b.most : a.row < b.row;
    });
    for (std::size_t i = 0; i < claims.size(); ++i) {
        double const fair = cores / static_cast<double>(claims.size() - i);
        claims[i].given = claims[i].most < fair ? claims[i].most : fair;
        cores -= claims[i].given;
    }
}

/// The smaller of `useful` cores and the limit in the holdings; without a holding there is no
/// limit.
[[nodiscard]] inline double limit_of(holding_range held, double useful) noexcept {
    for (auto const& h : held) {
        if (h.what.resource != resource_id::cpu || h.what.amount == unlimited) continue;
        double const limit = static_cast<double>(h.what.amount) / 1000;
        useful = limit < useful ? limit : useful;
    }
    return useful;
}

/// The node of a job on processors: the first one where it holds CPU; without CPU, the first node.
[[nodiscard]] inline std::uint32_t cpu_node_of(holding_range held) noexcept {
    for (auto const& h : held)
        if (h.what.resource == resource_id::cpu) return h.what.node;
    return 0;
}

}  // namespace ration::sim
