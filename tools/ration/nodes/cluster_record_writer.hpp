// SPDX-License-Identifier: BSL-1.0
/// Writes the record by which a later controller continues a run on several nodes.
#pragma once

#include <cstdint>
#include <string>

#include "nodes/cluster_jobs.hpp"
#include "nodes/cluster_record.hpp"
#include "run/event_sink.hpp"

namespace ration::program {

class cluster_record_writer {
    std::string path_;
    cluster_record head_;  // without jobs
    cluster_nodes const& nodes_;
    cluster_jobs const& jobs_;
    event_sink& events_;
    std::string written_{};
    std::uint64_t incarnations_ = 0;  // of all jobs together

public:
    /// `folder`: of the run. `head`: the rest is filled in.
    cluster_record_writer(std::string const& folder, cluster_record head, cluster_nodes const& nodes,
                          cluster_jobs const& jobs, event_sink& events);

    /// Before each list that assigns or withdraws a job, so that no node has a job that the record lacks, and after
    /// each launch. A failure is a warning.
    void save_changes(nanoseconds now);

private:
    [[nodiscard]] recorded_launch launch_of(live_job const& job) const;
};

}  // namespace ration::program
