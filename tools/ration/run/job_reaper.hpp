// SPDX-License-Identifier: BSL-1.0
/// The end of processes and of jobs: removes what is left, and emits the end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "run/background_work.hpp"
#include "run/command_channel.hpp"
#include "run/event_sink.hpp"
#include "run/exit_classifier.hpp"
#include "run/fork_servers.hpp"
#include "run/gpu_monitor.hpp"
#include "run/hook_runner.hpp"
#include "run/job_stopper.hpp"
#include "run/model_delivery.hpp"
#include "run/node_backend.hpp"
#include "run/progress_monitor.hpp"
#include "run/record_writer.hpp"
#include "run/scheduler.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

class job_reaper {
    node_backend& node_;
    progress_monitor& progress_;
    exit_classifier& exits_;
    usage_meter& usage_;
    command_channel& commands_;
    job_stopper& stopper_;
    gpu_monitor& gpus_;
    model_delivery& models_;
    hook_runner& hooks_;
    fork_servers& servers_;
    scheduler& scheduler_;
    record_writer& record_;
    event_sink& events_;
    background_work background_;
    per_job<std::optional<exit_classifier::verdict>> verdicts_;  // of jobs whose first process has ended

public:
    job_reaper(std::size_t jobs, node_backend& node, progress_monitor& progress, exit_classifier& exits,
               usage_meter& usage, command_channel& commands, job_stopper& stopper, gpu_monitor& gpus,
               model_delivery& models, hook_runner& hooks, fork_servers& servers, scheduler& scheduler,
               record_writer& record, event_sink& events)
        : node_(node), progress_(progress), exits_(exits), usage_(usage), commands_(commands), stopper_(stopper),
          gpus_(gpus), models_(models), hooks_(hooks), servers_(servers), scheduler_(scheduler), record_(record),
          events_(events), background_(node, stopper, events, jobs), verdicts_(jobs) {}

    /// The first process of the job has ended, and its reports were read. Ends the job, or this incarnation of it; does
    /// nothing while the end may be that of a GPU, which the next probe shows, or while other processes of a job that
    /// is over have time to end.
    void take_exit(live_job& job, process::exit_report const& how, nanoseconds now);
    /// When `take_exit` can end a job whose other processes have time to end, at the earliest.
    [[nodiscard]] nanoseconds next_look(live_job const& job) const noexcept { return background_.next_look(job); }
    /// The job has ended while no ration was there, and its end was recorded.
    void take_recorded_exit(live_job& job, process::exit_report const& how, nanoseconds now);
    /// The job has ended in this condition. `report`: of its process, if it had one.
    void finish(live_job& job, condition how, std::string why, process::exit_report const& report, nanoseconds now);
    /// A job without devices could not be launched.
    void fail_start(live_job& job, std::string why, nanoseconds now);
    /// The run was interrupted before the job started, or between two launches.
    void interrupt(live_job& job, nanoseconds now);
    /// Between two launches: other processes that the first one has left get time to end, then as `leave_place`.
    void clear_place(live_job& job, nanoseconds now);

private:
    /// Ends what is left of the job's processes and removes its place with the backend. Until that succeeds,
    /// `job.placed` holds.
    void leave_place(live_job& job, nanoseconds now);
    [[nodiscard]] bool waits_for_probe(live_job const& job, process::exit_report const& how, nanoseconds now);
    void end_incarnation(live_job& job, nanoseconds now);
    void run_hooks(live_job const& job, nanoseconds now);
    void measure_last(live_job const& job);
    void kill_strays(live_job const& job, nanoseconds now);
};

}  // namespace ration::program
