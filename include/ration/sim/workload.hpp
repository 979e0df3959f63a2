// SPDX-License-Identifier: BSL-1.0
/// A workload: the jobs of a trace, and the models that say how they behave.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// Jobs in the order in which they are submitted; what a reader of a trace or a generator makes, and every run only
/// reads.
struct workload {
    std::string name;
    std::vector<job_description> jobs;
    std::vector<std::string> job_names;  ///< one for each job, as in the trace; empty when the trace has none
    std::vector<std::string> tenants;    ///< index = `job_description::tenant`
    std::vector<std::shared_ptr<job_model const>> models;
    std::vector<std::string> model_names;  ///< one for each model, as traces name it; "rigid" for `rigid_model`
    std::size_t left_out = 0;              ///< rows of the trace that are no job: without devices, or without run time

    /// Whether a job of this workload runs on processors, and not on devices.
    [[nodiscard]] bool runs_on_cpu(job_description const& job) const noexcept {
        return models[job.model]->cores(job) > 0;
    }
};

/// Nodes of one kind.
struct node_group {
    std::size_t nodes = 0;
    std::int64_t devices = 0;  ///< on each
    std::uint32_t type = 0;    ///< index into `cluster::types`
    double cores = 0;          ///< CPU of each, for jobs on processors
};

/// The machines of a simulation.
struct cluster {
    std::vector<node_group> groups;
    std::vector<std::string> types{"gpu"};
};

/// Whether a node other than the first has cores: then a job on processors runs where its policy places it.
[[nodiscard]] inline bool has_to_place(cluster const& machines) noexcept {
    std::size_t before = 0;
    for (auto const& group : machines.groups) {
        if (group.cores > 0 && group.nodes > 0 && before + group.nodes > 1) return true;
        before += group.nodes;
    }
    return false;
}

}  // namespace ration::sim
