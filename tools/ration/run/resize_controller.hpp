// SPDX-License-Identifier: BSL-1.0
/// Brings jobs with devices to their sizes: carries out the orders of their machines (resize.hpp), and passes events on
/// to them.
#pragma once

#include <algorithm>
#include <optional>

#include "run/command_channel.hpp"
#include "run/elastic_jobs.hpp"
#include "run/event_sink.hpp"
#include "run/gpu_monitor.hpp"
#include "run/job_launcher.hpp"
#include "run/job_reaper.hpp"
#include "run/job_source.hpp"
#include "run/job_stopper.hpp"
#include "run/job_table.hpp"
#include "run/per_job.hpp"
#include "run/record_writer.hpp"
#include "run/scheduler.hpp"
#include "run/share_monitor.hpp"

namespace ration::program {

class resize_controller {
    job_source& source_;
    elastic_jobs& elastic_;
    job_table& jobs_;
    command_channel& commands_;
    job_launcher& launcher_;
    job_stopper& stopper_;
    job_reaper& reaper_;
    gpu_monitor& gpus_;
    share_monitor& shares_;
    scheduler& scheduler_;
    record_writer& record_;
    event_sink& events_;
    per_job<nanoseconds> clear_at_;  // next check whether something is left of the job

public:
    resize_controller(job_source& source, elastic_jobs& elastic, job_table& jobs, command_channel& commands,
                      job_launcher& launcher, job_stopper& stopper, job_reaper& reaper, gpu_monitor& gpus,
                      share_monitor& shares, scheduler& scheduler, record_writer& record, event_sink& events)
        : source_(source), elastic_(elastic), jobs_(jobs), commands_(commands), launcher_(launcher), stopper_(stopper),
          reaper_(reaper), gpus_(gpus), shares_(shares), scheduler_(scheduler), record_(record), events_(events),
          clear_at_(jobs.capacity()) {}

    /// Advances every resize. Nothing in a run without devices.
    void advance(nanoseconds now);
    /// Pre: the job has devices.
    void handle(live_job& job, progress::update const& reply, nanoseconds now);
    /// When `advance` is needed next for this job; none: only after an event.
    [[nodiscard]] std::optional<nanoseconds> next_deadline(live_job const& job) const noexcept;

private:
    void attend(live_job& job, nanoseconds now);
    void emit(live_job& job, resize_note const& note, nanoseconds now);
    void roll_back(live_job& job, resize_note const& note, nanoseconds now);
    void carry_out(live_job& job, resize_order order, nanoseconds now);
    void send(live_job& job, progress::command const& what, nanoseconds now);
    [[nodiscard]] bool launch_when_due(live_job& job, nanoseconds now);
    void relaunch(live_job& job, nanoseconds now);
    void refuse(live_job& job, nanoseconds now);
    void clear(live_job& job, nanoseconds now);
};

}  // namespace ration::program
