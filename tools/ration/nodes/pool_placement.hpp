// SPDX-License-Identifier: BSL-1.0
/// Places numbers of devices on nodes, for policies that answer only with numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nodes/node_share.hpp"

namespace ration::program {

struct pooled_job {
    std::int64_t wanted = 0;  ///< devices
    std::int64_t least = 1;   ///< that it accepts
    job_nodes nodes{};        ///< `held`: now
};

/// The shares of each job. `capacity`: devices of each node.
///
/// A job whose number of devices does not change keeps its nodes. One that shrinks leaves the nodes where it has least.
/// Others are placed, the largest first: on one node where they fit, preferably their own, otherwise that with the
/// least space; else on as few nodes as possible. A job that does not fit gets less, or keeps what it has.
[[nodiscard]] std::vector<node_shares> place_in_nodes(std::span<std::int64_t const> capacity,
                                                      std::span<pooled_job const> jobs);

}  // namespace ration::program
