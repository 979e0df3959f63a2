// SPDX-License-Identifier: BSL-1.0
/// Recovers the jobs of an earlier run when the service starts.
#pragma once

#include <optional>
#include <vector>

#include "run/orphaned_runs.hpp"
#include "serve/definition.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

struct recovered {
    std::optional<orphaned_run> run;   ///< of the earlier service
    std::vector<stored_job> launched;  ///< jobs that its record has, to be taken over
};

/// Finds the run of the earlier service, and settles the jobs that it does not have: they are queued again if they were
/// not launched, or if they have a checkpoint or a retry left and no end was noted; a noted end becomes
/// theirs; the others have failed. Commits. Errors: `busy` if jobs of other killed runs live; those of the parts.
[[nodiscard]] result<recovered> recover(job_store& store, service_folder const& folder);

/// The same for a run that was found. Errors: `busy` if a job of it lives that the list does not have; those of the
/// list.
[[nodiscard]] result<recovered> settle_jobs(job_store& store, service_folder const& folder,
                                            std::optional<orphaned_run> run);

}  // namespace ration::program
