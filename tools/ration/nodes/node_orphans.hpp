// SPDX-License-Identifier: BSL-1.0
/// Ends the jobs of an agent that was killed.
#pragma once

#include <string>

#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// `folder`: of records on this node. `record`: the name of the agent's run in its record. Each job gets `grace`
/// between SIGTERM and SIGKILL; they continue from their last checkpoints, wherever they start again. Pre: the agent is
/// dead. Errors: those of `find_orphaned_runs`; `busy` if a job does not end.
[[nodiscard]] result<void> end_node_orphans(std::string const& folder, std::string const& record, nanoseconds grace);

/// Removes the private folders of dead runs without live jobs, for example that of a controller that was killed.
void remove_folders_of_dead_runs();

}  // namespace ration::program
