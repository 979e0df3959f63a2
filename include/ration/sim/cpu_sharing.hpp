// SPDX-License-Identifier: BSL-1.0
/// How the processors of a node are shared by jobs that run on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/host/ledger.hpp>

namespace ration::sim {

/// A job on a node: cores that it can use, its limit among them, and those that it gets.
struct cpu_claim {
    std::uint32_t row = 0, node = 0;
    double most = 0, given = 0;
};

/// As a fair scheduler of equal weights does it: nobody gets more than it can use, what one leaves the others share,
/// and nothing is idle that somebody could use. O(n log n).
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

/// Of the cores that a job can use, those that its holdings leave it; no holding is no limit.
[[nodiscard]] inline double limit_of(holding_range held, double useful) noexcept {
    for (auto const& h : held) {
        if (h.what.resource != resource_id::cpu || h.what.amount == unlimited) continue;
        double const limit = static_cast<double>(h.what.amount) / 1000;
        useful = limit < useful ? limit : useful;
    }
    return useful;
}

/// Where a job on processors runs: on the first node where it holds CPU; without any, on the first node.
[[nodiscard]] inline std::uint32_t cpu_node_of(holding_range held) noexcept {
    for (auto const& h : held)
        if (h.what.resource == resource_id::cpu) return h.what.node;
    return 0;
}

}  // namespace ration::sim
