// SPDX-License-Identifier: BSL-1.0
/// Starts incarnations of jobs: token, environment, checkpoint folder, process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run/back_off.hpp"
#include "run/device_assigner.hpp"
#include "run/event_sink.hpp"
#include "run/fork_servers.hpp"
#include "run/health_monitor.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/per_job.hpp"
#include "run/progress_monitor.hpp"
#include "run/record_writer.hpp"
#include "run/run_directory.hpp"
#include "run/scheduler.hpp"
#include "run/share_monitor.hpp"

namespace ration::program {

class job_launcher {
    node_backend& node_;
    job_table const& jobs_;
    run_directory const& directory_;
    std::string output_folder_;
    device_assigner& assigner_;
    progress_monitor& progress_;
    health_monitor& health_;
    share_monitor& shares_;
    fork_servers& servers_;
    scheduler& scheduler_;
    record_writer& record_;
    event_sink& events_;
    per_job<back_off> rests_;

public:
    /// `output_folder`: for the output and the checkpoints of the jobs.
    job_launcher(std::size_t slots, node_backend& node, job_table const& jobs, run_directory const& directory,
                 std::string output_folder, device_assigner& assigner, progress_monitor& progress,
                 health_monitor& health, share_monitor& shares, fork_servers& servers, scheduler& scheduler,
                 record_writer& record, event_sink& events)
        : node_(node), jobs_(jobs), directory_(directory), output_folder_(std::move(output_folder)),
          assigner_(assigner), progress_(progress), health_(health), shares_(shares), servers_(servers),
          scheduler_(scheduler), record_(record), events_(events), rests_(slots) {}

    /// Starts the next incarnation. Sets `failed_by_host` of the job. Errors: those of the token, the folder, the
    /// masks, the backend and the launch.
    [[nodiscard]] result<void> launch(live_job& job, nanoseconds now);
    /// After a launch that has failed by an error of the machine: the job waits as before it, and is due again after a
    /// rest, which doubles up to 16 s.
    void postpone(live_job& job, error const& why, nanoseconds now);
    /// Whether the rest of the job after such a launch is over.
    [[nodiscard]] bool is_due(live_job const& job, nanoseconds now) const { return rests_[job].is_over(now); }
    [[nodiscard]] std::string output_of(live_job const& job) const;

private:
    [[nodiscard]] result<void> launch_incarnation(live_job& job, nanoseconds now);
    [[nodiscard]] result<void> prepare_checkpoints(live_job& job) const;
    [[nodiscard]] result<std::vector<std::string>> environment_of(live_job const& job,
                                                                  device_assignment const& assigned) const;
    void warn_of_bounds(live_job const& job, nanoseconds now);
    [[nodiscard]] result<void> start_process(live_job& job, device_assignment const& assigned, nanoseconds now);
    [[nodiscard]] result<process::child> launch_process(live_job const& job, job_start const& what,
                                                        process::launch_spec const& spec, nanoseconds now);
    void emit_start(live_job const& job, std::vector<std::string> const& command, device_assignment const& assigned,
                    nanoseconds now);
};

}  // namespace ration::program
