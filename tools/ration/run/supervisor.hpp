// SPDX-License-Identifier: BSL-1.0
/// One run of one policy: starts the jobs, listens to them, turns the engine's crank, and leaves nothing behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/engine.hpp>
#include <ration/host/meter.hpp>
#include <ration/policies/none.hpp>
#include <ration/progress/control.hpp>
#include <ration/progress/receiver.hpp>

#include "policies/policy_log.hpp"
#include "run/device_placement.hpp"
#include "run/elastic_jobs.hpp"
#include "run/gpu_shares.hpp"
#include "run/gpu_watch.hpp"
#include "run/host_devices.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/orphaned_runs.hpp"
#include "run/published_tables.hpp"
#include "run/reporter.hpp"
#include "run/run_directory.hpp"
#include "run/spare_cpu.hpp"
#include "run/stop_signals.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {

/// What a run needs and does not own.
struct run_parts {
    run_config const& config;
    std::string policy_name;
    any_policy& policy;
    node_backend& node;
    host_devices const& devices;
    gpu_shares const* shares;  ///< null: the devices are no shares of a GPU
    machine_topology const& topology;
    policy_log& log;
    reporter& out;
    run_directory const& directory;
    std::string run;            ///< its name
    std::string output_folder;  ///< where the jobs' output goes
    stop_signals& signals;
    orphaned_run const* reattached = nullptr;  ///< an earlier run to continue
};

class supervisor {
    run_parts parts_;
    nanoseconds began_;  // CLOCK_MONOTONIC
    progress::receiver receiver_;
    std::optional<progress::control> control_;
    elastic_jobs elastic_;
    std::optional<device_placement> placement_;  // none: devices are chosen by number
    job_table board_;
    published_tables shown_;
    policy_adapter<policies::none> fallback_;
    engine<node_backend> engine_;
    spare_cpu spare_;
    std::optional<gpu_watch> gpus_;  // none: the run shares none
    bool filtered_ = false;          // the kernel is to keep jobs to their GPUs
    rate_meter cpu_of_all_;  // the jobs' own rates lag behind an arrival, each for itself, and so does their sum
    nanoseconds next_tick_{0};
    bool news_ = true;  // something happened that the policy should know at once
    bool interrupted_ = false;
    std::string notice_;
    std::vector<std::string> message_;  // warnings given once
    policy_log_filter log_filter_;

public:
    supervisor(run_parts const& parts, progress::receiver receiver);
    supervisor(supervisor const&) = delete;
    supervisor& operator=(supervisor const&) = delete;

    /// Until the last job has ended. Errors: the policy needs what this host does not offer.
    [[nodiscard]] result<run_summary> run();
    /// What the policy said at its end. It may be gone already.
    void emit_final_message() { emit_policy_log(clock()); }

private:
    [[nodiscard]] nanoseconds clock() const noexcept;
    void announce(nanoseconds now);

    // --- jobs
    void start_due_jobs(nanoseconds now);
    [[nodiscard]] result<std::vector<std::string>> environment_of(live_job const& job) const;
    void start(live_job& job, nanoseconds now);
    [[nodiscard]] result<void> launch(live_job& job, nanoseconds now);
    void report_start(live_job const& job, std::vector<std::string> const& command, nanoseconds now);
    void cannot_start(live_job& job, std::string why, nanoseconds now);
    void reattach_run(orphaned_run const& run);
    void reattach(recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    [[nodiscard]] result<void> reattach_process(live_job& job, recorded_job const& recorded);
    void end_remaining(live_job const& job, recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    void end(live_job& job, process::exit_report const& how, nanoseconds now);
    void over(live_job& job, condition how, std::string why, process::exit_report const& report, nanoseconds now);
    void leave_place(live_job& job, nanoseconds now);
    void classify_health(nanoseconds now);
    void set_condition(live_job& job, condition now, std::string why, nanoseconds at);
    void record();

    // --- their end (supervisor_stop.cpp)
    void stop_without_process(live_job& job, nanoseconds now);
    bool begin_to_end(live_job& job, stop_reason why);
    void ask_to_stop(live_job& job, stop_reason why, nanoseconds now);
    [[nodiscard]] bool command_stop(live_job& job);
    void terminate(live_job& job, nanoseconds now);
    [[nodiscard]] result<void> ask_to_end(live_job& job, nanoseconds now);
    [[nodiscard]] result<void> kill(live_job& job);
    void end_strays(live_job const& job, nanoseconds now);
    void handle_stop(live_job& job, progress::update const& reply, nanoseconds now);
    void keep_deadlines(nanoseconds now);

    // --- models (supervisor_delivery.cpp)
    void work_on_deliveries(nanoseconds now);
    void ask_for_model(live_job& job, nanoseconds now);
    void handle_model(live_job& job, progress::update const& reply, nanoseconds now);
    void deliver(live_job& job, std::uint64_t step, nanoseconds now);
    void await_model(live_job& job, std::string why, nanoseconds now);

    // --- devices (supervisor_resize.cpp)
    void share_devices();
    void choose_by_place();
    void warn_of_placement(nanoseconds now);
    void take_place(live_job& job, process::cpu_set const& bound, nanoseconds now);
    void open_control();
    void work_on_devices(nanoseconds now);
    void attend(live_job& job, nanoseconds now);
    void emit(live_job& job, resize_note const& note, nanoseconds now);
    void roll_back_devices(live_job& job, resize_note const& note, nanoseconds now);
    void carry_out(live_job& job, resize_order order, nanoseconds now);
    void send(live_job& job, progress::command const& what, nanoseconds now);
    [[nodiscard]] bool launch_when_due(live_job& job, nanoseconds now);
    void relaunch(live_job& job, nanoseconds now);
    void refuse(live_job& job, nanoseconds now);
    void find_remaining(live_job& job, nanoseconds now);
    void end_incarnation(live_job& job, nanoseconds now);
    void handle_devices(live_job& job, progress::update const& reply, nanoseconds now);
    void reattach_devices(live_job& job, recorded_job const& recorded, job_traces const& traces, nanoseconds now);
    [[nodiscard]] device_list numbers_of(std::vector<std::string> const& recorded, nanoseconds now);
    void record_devices(live_job const& job, recorded_job& into) const;
    [[nodiscard]] std::vector<std::string> names_of(std::span<std::uint32_t const> devices) const;
    [[nodiscard]] result<void> prepare_checkpoints(live_job& job) const;
    [[nodiscard]] std::int64_t batch_of(live_job const& job) const;
    /// Of CPU devices; none for GPUs.
    [[nodiscard]] std::optional<millicores> cpu_of_devices(std::size_t count) const;

    // --- GPUs (supervisor_gpus.cpp)
    void watch_over_gpus(nanoseconds now);
    void probe_gpus(nanoseconds now);
    [[nodiscard]] std::vector<std::string> idle_devices() const;
    [[nodiscard]] bool has_looked(live_job& job, nanoseconds now);
    [[nodiscard]] bool waits_for_probe(live_job& job, process::exit_report const& how, nanoseconds now);
    [[nodiscard]] bool has_left_devices(live_job& job, nanoseconds now);
    [[nodiscard]] control control_of_devices(std::vector<std::string>& advice);
    void add_advice_of_shares(std::span<cuda::found_gpu const> gpus, std::vector<std::string>& advice) const;
    [[nodiscard]] std::optional<own_gpus> filter_of(live_job const& job, std::span<std::uint32_t const> devices) const;
    [[nodiscard]] std::optional<gpu_memory_limit> gpu_memory_of(live_job const& job,
                                                                std::span<std::uint32_t const> devices) const;
    void emit_limits(live_job const& job, nanoseconds now);
    [[nodiscard]] int percent_of(live_job const& job) const;
    [[nodiscard]] std::vector<std::string> share_environment(live_job const& job) const;
    void warn_of_ways_past(live_job const& job, std::span<std::string const> environment, nanoseconds now);
    void probe_clients(nanoseconds now);
    void classify_client(live_job& job, result<std::vector<std::int32_t>> const& clients, nanoseconds now);
    void emit_share(live_job& job, resize_step what, std::string why, nanoseconds now);

    // --- what comes in
    void wait(nanoseconds now);
    void read_progress(nanoseconds now);
    void read_outputs(nanoseconds now);
    void handle(progress::update const& reply, nanoseconds now);
    void reap(nanoseconds now);
    void heed_signals(nanoseconds now);

    // --- what goes out
    void tick(nanoseconds now);
    void reconcile(live_job& job, nanoseconds now);
    void emit(tick_report const& report, nanoseconds took);
    void end_released(tick_report const& report, nanoseconds now);
    void emit_policy_log(nanoseconds now);
    void emit(event_body body, nanoseconds at) { parts_.out.emit({at, std::move(body)}); }
    void warn_once(std::string_view subject, std::string sentence, nanoseconds now);
    [[nodiscard]] view_model view(nanoseconds now) const;
    [[nodiscard]] run_summary summary(nanoseconds now) const;
    [[nodiscard]] bool all_over() const noexcept;
};

}  // namespace ration::program
