// SPDX-License-Identifier: BSL-1.0
/// The state folder of a service compared with its list of jobs at a start: files of jobs that the list lacks, and rows
/// that it cannot read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ration/result.hpp>

#include "serve/definition.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

/// Of all users.
struct job_files {
    std::int64_t jobs = 0;     ///< with output or a checkpoint
    std::int64_t ends = 0;     ///< that no service has handled
    std::int64_t highest = 0;  ///< number of a job
};

/// A folder that cannot be read counts as empty. O(files).
[[nodiscard]] job_files find_job_files(service_folder const& folder);

/// "jobs/ has the files of 3 jobs, the last of them number 7, and ends/ has 1 end".
[[nodiscard]] std::string text_of(job_files const& files);

[[nodiscard]] std::string sentence_on(unreadable_job const& job);

/// Sentences for the user of the service; none if the list has everything. Errors: those of `job_store`.
[[nodiscard]] result<std::vector<std::string>> findings(job_store& store, service_folder const& folder,
                                                        job_files const& files);

}  // namespace ration::program
