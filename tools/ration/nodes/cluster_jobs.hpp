// SPDX-License-Identifier: BSL-1.0
/// The jobs of a run on several nodes: their columns for the policy, its grants, and the reports of their nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ration/host/engine.hpp>
#include <ration/policies/none.hpp>

#include "nodes/cluster_launches.hpp"
#include "nodes/cluster_record.hpp"
#include "nodes/node_limit_policy.hpp"
#include "nodes/node_row.hpp"
#include "nodes/pool_policy.hpp"
#include "run/job_table.hpp"
#include "run/live_estimators.hpp"
#include "run/published_tables.hpp"
#include "run/replaceable_policy.hpp"
#include "run/training_progress.hpp"

namespace ration::program {

class cluster_jobs {
    cluster_nodes& nodes_;
    std::int64_t most_devices_;
    job_table jobs_;
    std::vector<training_progress> progress_;
    std::vector<std::int64_t> withheld_;           // by node: devices of jobs that were lost since the last tick
    std::vector<std::vector<node_row>> incoming_;  // by node: rows of a report that is not complete
    column<std::int64_t> request_, workers_;
    cluster_backend backend_;
    cluster_launches launches_;
    pool_policy pooled_;
    node_limit_policy limited_;
    published_tables shown_;
    policy_adapter<policies::none> fallback_;
    live_estimators estimators_;
    engine<cluster_backend> engine_;
    bool requested_tick_ = true;

public:
    /// `policy` and the estimators from files outlive this.
    /// `devices`: the most that a job can have, if nodes are not up now; 0 if all are.
    cluster_jobs(run_config const& config, cluster_nodes& nodes, replaceable_policy& policy,
                 std::span<std::unique_ptr<any_estimator> const> from_files, std::int64_t devices);
    cluster_jobs(cluster_jobs const&) = delete;
    cluster_jobs& operator=(cluster_jobs const&) = delete;

    /// Errors: the policy needs columns that this host does not have.
    [[nodiscard]] result<void> bind();

    /// Continues a launch of an earlier controller. Pre: `bind`, all jobs of the record have arrived, and the registry
    /// expects them.
    void restore(recorded_launch const& recorded, nanoseconds now);

    // --- Events
    /// A report of a node, complete or in part. Errors: a sentence on it.
    [[nodiscard]] result<void, std::string> take_state(std::size_t node, state_report const& state, nanoseconds now);
    /// The job has ended, and holds nothing.
    void finish(live_job& job, condition how, std::string why, nanoseconds now);
    /// Jobs of which a node is lost, an agent was replaced or a part has failed wait for another launch. Returns them.
    [[nodiscard]] std::vector<live_job*> release_lost(nanoseconds now);

    // --- Time
    /// Faults of estimators from files are warnings in `events`.
    [[nodiscard]] tick_report tick(nanoseconds now, event_sink& events);
    void request_tick() noexcept { requested_tick_ = true; }
    [[nodiscard]] bool wants_tick() const noexcept { return requested_tick_; }

    // --- State
    [[nodiscard]] job_table& table() noexcept { return jobs_; }
    [[nodiscard]] job_table const& table() const noexcept { return jobs_; }
    [[nodiscard]] live_job* find(std::string_view name) noexcept;
    [[nodiscard]] training_progress& progress_of(live_job const& job) noexcept { return progress_[job.slot]; }
    [[nodiscard]] training_progress const& progress_of(live_job const& job) const noexcept {
        return progress_[job.slot];
    }
    /// Its number in the registry and the backend.
    [[nodiscard]] static std::size_t number_of(live_job const& job) noexcept { return job.id.value - 1; }
    [[nodiscard]] cluster_launches& launches() noexcept { return launches_; }
    [[nodiscard]] cluster_launches const& launches() const noexcept { return launches_; }
    /// The most devices that a job can have at once.
    [[nodiscard]] std::int64_t most_devices() const noexcept { return most_devices_; }
    [[nodiscard]] snapshot published() const noexcept { return shown_.last(); }

private:
    void describe(live_job const& job, std::int64_t reachable, nanoseconds now);
    void refresh(nanoseconds now);
    void take_row(live_job& job, std::size_t node, bool is_latest, node_row&& row, nanoseconds now);
    void roll_back(live_job const& job, node_shares const& shares, nanoseconds now);
    void release(live_job& job, nanoseconds now);
    void take_rows(std::size_t node, std::uint64_t list, std::vector<node_row> rows, nanoseconds now);
    [[nodiscard]] job_nodes nodes_of(std::uint64_t id) const;
};

}  // namespace ration::program
