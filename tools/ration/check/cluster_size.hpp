// SPDX-License-Identifier: BSL-1.0
/// The size of the synthetic clusters in which plugins are tested.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/testing/synthetic_cluster.hpp>

namespace ration::conformance {

inline constexpr std::size_t resource_count = testing::synthetic_resources.size();
inline constexpr std::size_t most_jobs = 12, most_nodes = 3, most_grants = most_jobs * most_nodes * resource_count;
inline constexpr std::size_t first_jobs = 6;

[[nodiscard]] inline testing::synthetic_shape cluster_of(std::size_t nodes) {
    constexpr testing::per_resource<std::int64_t> capacity{16'000, std::int64_t{1} << 34, most_jobs, 8'000, 1 << 20,
                                                           4096};
    return {.nodes = {nodes, capacity}, .jobs = most_jobs, .holdings = most_grants, .node_types = 2};
}

}  // namespace ration::conformance
