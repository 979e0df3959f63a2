// SPDX-License-Identifier: BSL-1.0
/// One run of one policy: owns the components, connects them, and starts the loop.
#pragma once

#include "run/announcement.hpp"
#include "run/item_cache.hpp"
#include "run/reattachment.hpp"
#include "run/run_loop.hpp"

namespace ration::program {

class supervisor {
    run_parts parts_;
    policy_choice choice_;
    run_clock clock_;
    event_sink events_;
    elastic_jobs elastic_;
    job_table jobs_;
    progress_monitor progress_;
    command_channel commands_;
    usage_meter usage_;
    replaceable_policy policy_;
    scheduler scheduler_;
    gpu_monitor gpus_;
    device_assigner assigner_;
    share_monitor shares_;
    record_writer record_;
    job_stopper stopper_;
    health_monitor health_;
    model_delivery models_;
    hook_runner hooks_;
    fork_servers servers_;
    job_launcher launcher_;
    exit_classifier exits_;
    job_reaper reaper_;
    resize_controller resizes_;
    tick_reporter tick_events_;
    std::unique_ptr<item_cache> items_;
    run_status status_;

public:
    supervisor(run_parts const& parts, progress::receiver receiver);
    supervisor(supervisor const&) = delete;
    supervisor& operator=(supervisor const&) = delete;

    /// Until the last job has ended. Errors: the policy needs columns that this host does not have.
    [[nodiscard]] result<run_summary> run();
    /// The log of the policy at its end. The policy may be gone already.
    void emit_final_message() { tick_events_.emit_policy_log(clock_.now()); }

private:
    [[nodiscard]] result<void> change_policy(policy_change& next, nanoseconds now);
    void reattach(orphaned_run const& run);
};

}  // namespace ration::program
