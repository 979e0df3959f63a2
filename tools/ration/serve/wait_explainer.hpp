// SPDX-License-Identifier: BSL-1.0
/// Why a job of the service waits, by the state of the run and the list of jobs.
#pragma once

#include <cstddef>
#include <vector>

#include "run/job_table.hpp"
#include "serve/job_list.hpp"
#include "serve/live_view.hpp"
#include "serve/service_control.hpp"
#include "serve/wait_reason.hpp"
#include "serve/waiting_jobs.hpp"

namespace ration::program {

/// The run at one time.
struct run_view {
    job_table const& jobs;
    std::vector<watched_job> watched;  ///< that are not over
    nanoseconds now;                   ///< on the clock of the run
};

class wait_explainer {
    job_list& list_;
    service_control const& control_;
    waiting_jobs const& waiting_;
    std::size_t max_running_;

public:
    wait_explainer(job_list& list, service_control const& control, waiting_jobs const& waiting,
                   std::size_t max_running) noexcept
        : list_(list), control_(control), waiting_(waiting), max_running_(max_running) {}

    /// `order`: made now. O(jobs in the run + tenants x log jobs). Errors: those of the list.
    [[nodiscard]] result<job_wait> reason_of(stored_job const& job, run_view const& run,
                                             start_order const& order) const;

private:
    /// The jobs of `after` that have not completed.
    [[nodiscard]] result<std::vector<open_predecessor>> predecessors_of(stored_job const& job,
                                                                        std::vector<run_member> const& run) const;
};

}  // namespace ration::program
