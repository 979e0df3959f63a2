// SPDX-License-Identifier: BSL-1.0
/// The loop of a run: waits for events, passes them to the components, and ticks.
#pragma once

#include <functional>
#include <poll.h>
#include <string>
#include <vector>

#include "run/gpu_monitor.hpp"
#include "run/health_monitor.hpp"
#include "run/hook_runner.hpp"
#include "run/item_cache.hpp"
#include "run/job_launcher.hpp"
#include "run/job_reaper.hpp"
#include "run/job_source.hpp"
#include "run/job_stopper.hpp"
#include "run/model_delivery.hpp"
#include "run/progress_monitor.hpp"
#include "run/record_writer.hpp"
#include "run/resize_controller.hpp"
#include "run/run_clock.hpp"
#include "run/run_status.hpp"
#include "run/scheduler.hpp"
#include "run/stop_signals.hpp"
#include "run/tick_reporter.hpp"

namespace ration::program {

/// The components that the loop drives; each outlives it.
struct loop_components {
    run_clock clock;
    job_source& source;
    node_backend& node;
    job_table& jobs;
    elastic_jobs& elastic;
    device_assigner& assigner;
    stop_signals& signals;
    progress_monitor& progress;
    command_channel& commands;
    usage_meter& usage;
    health_monitor& health;
    gpu_monitor& gpus;
    model_delivery& models;
    hook_runner& hooks;
    job_launcher& launcher;
    job_stopper& stopper;
    job_reaper& reaper;
    resize_controller& resizes;
    record_writer& record;
    scheduler& ticks;
    tick_reporter& tick_events;
    item_cache* items;  ///< null: the run has no cache
    event_sink& events;
    run_status& status;
    reporter& out;
    std::function<result<void>(policy_change&, nanoseconds)> change_policy;
};

class run_loop {
    loop_components c_;
    bool interrupted_ = false;
    std::string notice_;
    std::vector<job_id> reached_;  // their tiers are not in the record yet

public:
    explicit run_loop(loop_components const& components) : c_(components) {}

    /// Until the last job has ended and no further one can come.
    [[nodiscard]] run_summary run();

private:
    [[nodiscard]] bool all_over() const noexcept;
    void admit(nanoseconds now);
    void start_due_jobs(nanoseconds now);
    void start(live_job& job, nanoseconds now);
    void wait(nanoseconds now);
    void keep_limits_until(nanoseconds wake, std::vector<pollfd>& fds);
    void read_progress(nanoseconds now);
    void handle(progress::update const& reply, nanoseconds now);
    void handle_tier(live_job& job, nanoseconds now);
    void keep_tiers(nanoseconds now);
    void reap(nanoseconds now);
    void handle_signals(nanoseconds now);
    void interrupt_jobs(bool first, bool kill, nanoseconds now);
    void stop(live_job& job, nanoseconds now);
    void terminate(live_job& job, nanoseconds now);
    void take_turn(nanoseconds now);
    void tick(nanoseconds now);
    void handle_changes(tick_report const& report);
    void handle_change(live_job& job, checked_grant const& grant, nanoseconds now);
    void stop_released(tick_report const& report);
};

}  // namespace ration::program
