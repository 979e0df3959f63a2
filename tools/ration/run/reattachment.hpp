// SPDX-License-Identifier: BSL-1.0
/// Continues the jobs of a run that was killed, from its record and from what is left of it on this machine.
#pragma once

#include <string>
#include <vector>

#include "run/command_channel.hpp"
#include "run/device_assigner.hpp"
#include "run/elastic_jobs.hpp"
#include "run/event_sink.hpp"
#include "run/job_launcher.hpp"
#include "run/job_reaper.hpp"
#include "run/job_source.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/orphaned_runs.hpp"
#include "run/progress_monitor.hpp"
#include "run/record_writer.hpp"
#include "run/scheduler.hpp"

namespace ration::program {

/// Why a job has ended of which no process and no end is left.
inline constexpr char const* ended_unseen = "ended while no ration was there to see how";

class reattachment {
    job_table& jobs_;
    job_source const& source_;
    node_backend& node_;
    elastic_jobs& elastic_;
    device_assigner& assigner_;
    progress_monitor& progress_;
    command_channel& commands_;
    scheduler& scheduler_;
    job_launcher& launcher_;
    job_reaper& reaper_;
    record_writer& record_;
    event_sink& events_;

public:
    reattachment(job_table& jobs, job_source const& source, node_backend& node, elastic_jobs& elastic,
                 device_assigner& assigner, progress_monitor& progress, command_channel& commands, scheduler& scheduler,
                 job_launcher& launcher, job_reaper& reaper, record_writer& record, event_sink& events)
        : jobs_(jobs), source_(source), node_(node), elastic_(elastic), assigner_(assigner), progress_(progress),
          commands_(commands), scheduler_(scheduler), launcher_(launcher), reaper_(reaper), record_(record),
          events_(events) {}

    /// From here on this process owns the jobs of `run`. The earlier record stays until the new one has all of them.
    void reattach(orphaned_run const& run, nanoseconds now);

private:
    void reattach_job(live_job& job, recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    void reattach_devices(live_job& job, recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    [[nodiscard]] bool end_dead(live_job& job, resize_record const& from, nanoseconds now);
    [[nodiscard]] result<void> reattach_process(live_job& job, recorded_job const& recorded, nanoseconds now);
    void end_remaining(live_job const& job, recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    [[nodiscard]] resize_record resize_of(recorded_job const& recorded, nanoseconds now);
    [[nodiscard]] device_list numbers_of(std::vector<std::string> const& recorded, nanoseconds now);
    void cap_cpu(live_job const& job, std::size_t devices, nanoseconds now);
};

}  // namespace ration::program
