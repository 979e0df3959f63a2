// SPDX-License-Identifier: BSL-1.0
/// The addresses and numbers of the ranks of a job: placeholders in its command, and entries of its environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "run/live_job.hpp"

namespace ration::program {

/// The command of the present launch. In a job with devices `{devices}` is the number of its ranks on this node,
/// `{nodes}` that of its nodes, `{node_rank}` the number of this one, and `{master}` the address and port of rank 0.
[[nodiscard]] std::vector<std::string> command_of(live_job const& job, std::int64_t ranks);

/// MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK and NODE_RANK of a job that can use several nodes, and RATION_NODES;
/// empty for other jobs, whose launcher chooses them.
[[nodiscard]] std::vector<std::string> ranks_entries(live_job const& job, std::int64_t ranks);

/// The suffix of the name of a part's output, so that each part has a separate file.
[[nodiscard]] std::string suffix_of_output(live_job const& job);

}  // namespace ration::program
