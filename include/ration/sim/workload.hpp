// SPDX-License-Identifier: BSL-1.0
/// A workload: the jobs of a trace, and the models that define their behaviour.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ration/sim/model.hpp>
#include <ration/tenant.hpp>

namespace ration::sim {

/// A data set.
struct data_set {
    std::string name;
    std::int64_t bytes = 0;
};

/// Jobs in the order of their submission. Readers of traces and generators make it; runs only read
/// it, so threads can share it.
struct workload {
    /// The name in reports.
    std::string name;
    /// In the order of submission; ids are indices plus 1.
    std::vector<job_description> jobs;
    std::vector<std::string> job_names;  ///< one for each job, as in the trace; empty if the trace has none
    std::vector<std::string> tenants;    ///< indexed by `job_description::tenant`
    /// One for each tenant; empty: each has the weight 1, and no quota
    std::vector<tenant_description> tenant_terms{};
    /// Indexed by `job_description::model`.
    std::vector<std::shared_ptr<job_model const>> models;
    std::vector<std::string> model_names;  ///< one for each model, as traces name it; "rigid" for `rigid_model`
    std::vector<data_set> items{};         ///< indexed by `job_description::item`
    std::size_t left_out = 0;   ///< rows of the trace that were skipped: without devices, or without a run time
    std::size_t not_jobs = 0;   ///< skipped lines of the trace that are a part of a job, or not a job
    std::size_t long_jobs = 0;  ///< jobs of the trace with a run time of more than 30 days

    /// True if a job of this workload runs on processors instead of devices.
    [[nodiscard]] bool runs_on_cpu(job_description const& job) const noexcept {
        return models[job.model]->cores(job) > 0;
    }
};

/// Properties on which the tables of a simulation depend before its jobs are known.
struct workload_shape {
    std::int64_t most_devices = 0;   ///< the largest `job_description::most`
    bool has_restart_costs = false;  ///< a job has a `restart_cost`
    bool uses_processors = false;    ///< a job's model has cores
    bool makes_requests = false;     ///< a job's model has `job_model::makes_requests`
    bool has_phases = false;         ///< a job's model has `job_model::has_phases`
    /// The sum of `most` over all jobs, if it is known
    std::size_t all_devices = std::numeric_limits<std::size_t>::max();
};

/// The shape of jobs that are all known. O(jobs).
[[nodiscard]] inline workload_shape shape_of(workload const& jobs) noexcept {
    workload_shape shape{.all_devices = 0};
    for (auto const& job : jobs.jobs) {
        auto const most = static_cast<std::size_t>(job.most > 0 ? job.most : 0);
        std::size_t const left = std::numeric_limits<std::size_t>::max() - shape.all_devices;
        shape.all_devices += most < left ? most : left;
        if (job.most > shape.most_devices) shape.most_devices = job.most;
        shape.has_restart_costs |= job.restart_cost > 0;
        shape.uses_processors |= jobs.runs_on_cpu(job);
        shape.makes_requests |= jobs.models[job.model]->makes_requests();
        shape.has_phases |= jobs.models[job.model]->has_phases();
    }
    return shape;
}

/// The rows of the table `tenants`: one for each tenant of the workload.
[[nodiscard]] inline std::vector<tenant_description> tenants_of(workload const& jobs) {
    if (!jobs.tenant_terms.empty()) return jobs.tenant_terms;
    std::vector<tenant_description> all(jobs.tenants.size());
    for (std::size_t row = 0; row < all.size(); ++row) all[row].id = row + 1;
    return all;
}

/// Nodes of one kind.
struct node_group {
    /// Their number.
    std::size_t nodes = 0;
    std::int64_t devices = 0;  ///< on each node
    std::uint32_t type = 0;    ///< index into `cluster::types`
    double cores = 0;          ///< CPU of each node, for jobs on processors
};

/// The machines of a simulation.
struct cluster {
    /// Nodes are numbered in the order of the groups.
    std::vector<node_group> groups;
    /// Names of the types of devices.
    std::vector<std::string> types{"gpu"};
};

/// True if a node other than the first has cores: then a job on processors runs where its policy
/// places it.
[[nodiscard]] inline bool has_to_place(cluster const& machines) noexcept {
    std::size_t before = 0;
    for (auto const& group : machines.groups) {
        if (group.cores > 0 && group.nodes > 0 && before + group.nodes > 1) return true;
        before += group.nodes;
    }
    return false;
}

}  // namespace ration::sim
