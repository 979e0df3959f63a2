// SPDX-License-Identifier: BSL-1.0
/// Runs on several nodes whose controller was killed: their agents can still train the jobs.
#pragma once

#include <string>
#include <vector>

#include <ration/process/descriptor.hpp>

#include "nodes/cluster_record.hpp"

namespace ration::program {

struct earlier_run {
    std::string folder;
    cluster_record record;     ///< without a name if it cannot be read, so that nothing can continue the run
    process::descriptor lock;  ///< of its controller; empty if another process holds it
};

/// The lock of the controller of a run, `.controller` in the folder of the run. Empty: another controller lives, or the
/// file cannot be opened.
[[nodiscard]] process::descriptor lock_controller(std::string const& folder);

/// Runs of this jobs file below `ration-output` in this folder that have not ended, the oldest first. Those with a
/// damaged record are among them; a warning names it.
[[nodiscard]] std::vector<earlier_run> find_earlier_runs(std::string const& file);

/// The path of a jobs file, as records have it.
[[nodiscard]] std::string absolute_file(std::string const& file);

/// No agent of the run is left, and it cannot be continued any more.
void forget_run(std::string const& folder);

}  // namespace ration::program
