// SPDX-License-Identifier: BSL-1.0
/// The running jobs of the service as the API shows them, with their limits and progress.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "run/job_table.hpp"
#include "run/training_progress.hpp"
#include "serve/definition.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

struct watched_job {
    live_job const* live;
    training_progress const* progress;
    stored_job const* stored;
    std::string_view reason;  ///< of the policy, for its last change of a limit
    bool continues;           ///< it has shown in this service that another launch of it can continue
};

/// `{"cores": 4.0, "jobs": [...]}`: the cores that the jobs share, and each of these jobs. O(jobs).
[[nodiscard]] std::string running_json(job_table const& table, std::span<watched_job const> shown,
                                       service_folder const& folder);

}  // namespace ration::program
