// SPDX-License-Identifier: BSL-1.0
/// Why a job waits, as a sentence for its user, and from when on it may start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/tenants.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

struct job_wait {
    std::string sentence;  ///< empty: the job does not wait
    /// In ms since 1970, if running jobs end as estimated; none: unknown
    std::optional<std::int64_t> earliest_ms{};
};

/// A job in the run.
struct run_member {
    std::int64_t id = 0;
    std::string_view tenant{};
    std::int64_t devices = 0;              ///< held now
    std::optional<std::int64_t> needed{};  ///< the fewest devices of a launch; none: it needs no device
    bool launched = false;
    std::optional<std::int64_t> end_ms{};  ///< estimated; none: unknown
};

/// The state of the service in which a job waits.
struct wait_context {
    std::int64_t now_ms = 0;
    bool draining = false;
    std::size_t places = 0;    ///< the most jobs in the run
    std::int64_t devices = 0;  ///< shared out
    std::string_view policy{};
    std::string_view rule{};  ///< by which the policy orders waiting jobs; empty: by their arrival
    tenant_tree const& tenants;
    std::vector<run_member> run{};  ///< in the order of their arrival
    std::int64_t rest_ms = 0;       ///< of the queued job: left until its next launch after one that failed
};

/// A job to which another one is the successor.
struct open_predecessor {
    std::string label;
    std::optional<std::int64_t> end_ms{};  ///< estimated; none: unknown
};

/// Of a queued job. `predecessors`: those that have not completed. `ahead`: jobs that start before it; none: it is not
/// among the jobs that may start. `lacks_devices`: it needs one, and there is none. O(jobs in the run).
[[nodiscard]] job_wait wait_in_queue(stored_job const& job, std::vector<open_predecessor> const& predecessors,
                                     std::optional<std::size_t> ahead, bool lacks_devices, wait_context const& in);

/// Of a job in the run that does not run. O(jobs in the run x depth of the tree of tenants x tenants).
[[nodiscard]] job_wait wait_in_run(std::int64_t job, wait_context const& in);

}  // namespace ration::program
