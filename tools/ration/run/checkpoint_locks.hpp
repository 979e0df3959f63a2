// SPDX-License-Identifier: BSL-1.0
/// Keeps two runs from writing checkpoints into one folder.
#pragma once

#include <vector>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>

#include "config/config.hpp"

namespace ration::program {

/// Locks (flock(2)) each folder that a job names by `checkpoint`, until the descriptors are closed; makes those that
/// are missing. A folder that cannot be opened is left to the launch of its job, which reports the cause. Errors:
/// `busy` if another run has a lock.
[[nodiscard]] result<std::vector<process::descriptor>> lock_checkpoints(run_config const& config);

}  // namespace ration::program
