// SPDX-License-Identifier: BSL-1.0
/// The loop of a run on several nodes: waits for the nodes, applies their reports, and asks the policy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nodes/cluster_jobs.hpp"
#include "nodes/cluster_record_writer.hpp"
#include "policies/policy_log.hpp"
#include "run/reporter.hpp"
#include "run/run_clock.hpp"
#include "run/run_order.hpp"
#include "run/stop_signals.hpp"
#include "run/tick_reporter.hpp"

namespace ration::program {

/// A report that a node has sent while the controller waited for other nodes.
struct early_report {
    std::size_t node = 0;
    node_report what;
};

class cluster_loop {
    run_config const& config_;
    planned_run const& planned_;
    run_clock clock_;
    reporter& out_;
    stop_signals& signals_;
    event_sink& events_;
    cluster_nodes& nodes_;
    cluster_jobs& jobs_;
    any_policy& chosen_;
    replaceable_policy& policy_;
    tick_reporter ticks_;
    cluster_record_writer& record_;
    nanoseconds next_tick_{};
    nanoseconds node_wait_;
    std::optional<nanoseconds> without_nodes_since_{};
    std::size_t nodes_up_ = 0;
    std::string notice_;
    bool interrupted_ = false;

public:
    /// `chosen`: the policy of the command line, at the start that of `policy`. `node_wait`: for any node, after all
    /// were lost.
    cluster_loop(run_config const& config, planned_run const& planned, nanoseconds node_wait, run_clock clock,
                 reporter& out, stop_signals& signals, event_sink& events, cluster_nodes& nodes, cluster_jobs& jobs,
                 any_policy& chosen, replaceable_policy& policy, policy_log& log, cluster_record_writer& record);

    /// Until the last job has ended. The nodes still run. `early`: reports that came before.
    [[nodiscard]] run_summary run(std::vector<early_report> early);

private:
    [[nodiscard]] bool are_over() const noexcept;
    void announce(nanoseconds now);
    void wait(nanoseconds now);
    void handle(std::size_t node, node_report const& report, nanoseconds now);
    void handle_signals(nanoseconds now);
    void end_job(live_job& job, condition how, std::string why, nanoseconds now);
    void restart_lost(nanoseconds now);
    void emit_failed_start(live_job const& job, nanoseconds now);
    void note_nodes();
    void resume(nanoseconds now);
    void await_any_node(nanoseconds now);
    void end_all(std::string const& why, nanoseconds now);
    void tick(nanoseconds now);
    void send(nanoseconds now);
    [[nodiscard]] view_model view(nanoseconds now) const;
    [[nodiscard]] run_summary summary(nanoseconds now) const;
};

}  // namespace ration::program
