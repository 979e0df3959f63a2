// SPDX-License-Identifier: BSL-1.0
/// The devices of a job on one node, and those of a job on all nodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ration::program {

struct node_share {
    std::size_t node = 0;
    std::int64_t devices = 0;
    friend bool operator==(node_share const&, node_share const&) noexcept = default;
};

/// By node, each with at least one device. Rank 0 of the job is on the first one.
using node_shares = std::vector<node_share>;

[[nodiscard]] inline std::int64_t devices_in(node_shares const& shares) noexcept {
    std::int64_t sum = 0;
    for (auto const& share : shares) sum += share.devices;
    return sum;
}

[[nodiscard]] inline std::int64_t devices_on(node_shares const& shares, std::size_t node) noexcept {
    for (auto const& share : shares)
        if (share.node == node) return share.devices;
    return 0;
}

inline void set_share(node_shares& shares, std::size_t node, std::int64_t devices) {
    auto const at = std::ranges::lower_bound(shares, node, {}, &node_share::node);
    bool const is_there = at != shares.end() && at->node == node;
    if (devices == 0) {
        if (is_there) shares.erase(at);
    } else if (is_there) {
        at->devices = devices;
    } else {
        shares.insert(at, {node, devices});
    }
}

/// Where a job is, and on how many nodes it can be at once.
struct job_nodes {
    node_shares held{};
    std::size_t most = 1;
};
/// Of the job with this `jobs/id`.
using nodes_of_job = std::function<job_nodes(std::uint64_t)>;

}  // namespace ration::program
