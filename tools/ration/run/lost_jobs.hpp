// SPDX-License-Identifier: BSL-1.0
/// Living jobs without the record of their run, and the output files that living jobs keep locked.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

#include <ration/result.hpp>

#include "config/config.hpp"
#include "run/run_record.hpp"

namespace ration::program {

/// The jobs of this file that still run in their folders, and of whose run no record can be found: "vae (process 12)".
/// Empty: none. Errors: those of reading /proc.
[[nodiscard]] result<std::string> find_lost_jobs(run_config const& config);

/// Ends the processes of this user that a launch with this file for its output has left. Returns their numbers,
/// "12, 13"; empty: none. Errors: as of `process::kill_marked`.
[[nodiscard]] result<std::string> end_lost_job(std::string_view output, uid_t user);

/// Whether a process may have the output of a job of this run open, also one that counts in another PID namespace. The
/// launch locks the file until the last process that inherits it has ended.
[[nodiscard]] bool has_open_output(run_record const& record);

}  // namespace ration::program
