// SPDX-License-Identifier: BSL-1.0
/// A command of the user that an event of a job starts.
#pragma once

#include <string>
#include <vector>

#include <ration/process/launch.hpp>

#include "config/config.hpp"

namespace ration::program {

struct hook_call {
    std::string job;  ///< its name
    hook what = hook::end;
    process::launch_spec how;
};

/// The job's command for this event. `facts`: entries of its environment, as NAME=VALUE.
[[nodiscard]] hook_call make_hook_call(job_config const& job, hook what, std::vector<std::string> const& facts,
                                       std::string const& output_folder);

}  // namespace ration::program
