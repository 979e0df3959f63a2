// SPDX-License-Identifier: BSL-1.0
/// The commands of the service's users. `cancel`, `pause` and `resume` ask the service; the others read its
/// list of jobs, so that they also work while it is down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/result.hpp>

#include "common/exit_code.hpp"

namespace ration::program {

struct status_options {
    std::string folder;
    std::string job;  ///< empty: all
    bool json = false;
};
[[nodiscard]] exit_code show_status(status_options const& options);

struct named_jobs {
    std::string folder;
    std::vector<std::string> jobs;
    bool json = false;
};
struct cancel_options : named_jobs {};
struct pause_options : named_jobs {};
struct resume_options : named_jobs {};
[[nodiscard]] exit_code cancel_jobs(cancel_options const& options);
[[nodiscard]] exit_code pause_jobs(pause_options const& options);
[[nodiscard]] exit_code resume_jobs(resume_options const& options);

struct wait_options {
    std::string folder;
    std::string job;
    bool json = false;
};
/// Returns the exit code of the job's program: 128 + number for a signal, 1 for a failed job without either, 4 for one
/// that was cancelled.
[[nodiscard]] exit_code wait_for_job(wait_options const& options);

/// The output of a job of the service.
struct job_output {
    std::string log;                           ///< the file; `earlier_output` of it may exist
    std::optional<process::account> rights{};  ///< to open it with, since its user can put a link there
    bool is_final = false;                     ///< no further output comes
};

/// Empty: the service has no such job. Errors: the list of jobs cannot be read; `not_found` without a service in the
/// folder.
[[nodiscard]] result<std::optional<job_output>> output_of_job(std::string const& folder, std::string const& job);

}  // namespace ration::program
