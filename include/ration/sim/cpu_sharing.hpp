// SPDX-License-Identifier: BSL-1.0
/// Division of the processors of one node among its jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/ledger.hpp>

namespace ration::sim {

/// The limit of a job without one, in cores.
inline constexpr double unlimited_cores = std::numeric_limits<double>::infinity();

/// A job on a node.
struct cpu_claim {
    /// Its row, and the node.
    std::uint32_t row = 0, node = 0;
    /// The cores that it may use: what it can use, and its limit; and the cores that it gets.
    double most = 0, given = 0;
    double useful = 0;               ///< its use without a limit
    double limit = unlimited_cores;  ///< and that limit

    /// The part of the time in which its limit stops it: threads on all cores that it can use spend the quota first.
    [[nodiscard]] double throttled() const noexcept {
        return limit < useful && given == limit ? 1 - given / useful : 0.0;
    }
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

/// The least limit of a resource in the holdings; `unlimited` without one.
[[nodiscard]] inline std::int64_t limit_of(holding_range held, resource_id of) noexcept {
    std::int64_t least = unlimited;
    for (auto const& h : held)
        if (h.what.resource == of && h.what.amount < least) least = h.what.amount;
    return least;
}
/// The limit of the CPU in cores; `unlimited_cores` without one.
[[nodiscard]] inline double limit_in_cores(holding_range held) noexcept {
    std::int64_t const limit = limit_of(held, resource_id::cpu);
    return limit == unlimited ? unlimited_cores : static_cast<double>(limit) / 1000;
}

/// The node of a job on processors: the first one where it holds CPU; without CPU, the first node.
[[nodiscard]] inline std::uint32_t cpu_node_of(holding_range held) noexcept {
    for (auto const& h : held)
        if (h.what.resource == resource_id::cpu) return h.what.node;
    return 0;
}

}  // namespace ration::sim
