// SPDX-License-Identifier: BSL-1.0
/// The part of a job's environment that follows from the jobs file: shared by a launch and a dry run.
#pragma once

#include <string>
#include <vector>

#include <ration/process/environment.hpp>

#include "config/config.hpp"

namespace ration::program {

/// A request with the inherited and declared entries of the job, and the CPU that it can get on a machine with this
/// capacity.
[[nodiscard]] process::environment_request environment_of(job_config const& job, millicores capacity);

/// The entries, as NAME=VALUE, by which the threads of a job are counted and wait, in an environment that
/// `process::make_environment` made.
[[nodiscard]] std::vector<std::string> thread_entries(std::vector<std::string> const& environment);

}  // namespace ration::program
