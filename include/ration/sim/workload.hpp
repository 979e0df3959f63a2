// SPDX-License-Identifier: BSL-1.0
/// A workload: the jobs of a trace, and the models that say how they behave.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <ration/sim/model.hpp>

namespace ration::sim {

/// Jobs in the order in which they are submitted; what a reader of a trace or a generator makes, and every run only reads.
struct workload {
    std::string name;
    std::vector<job_description> jobs;
    std::vector<std::string> job_names;    ///< one for each job, as in the trace; empty when the trace has none
    std::vector<std::string> tenants;      ///< index = `job_description::tenant`
    std::vector<std::shared_ptr<job_model const>> models;
    std::vector<std::string> model_names;  ///< one for each model, as traces name it; "rigid" for `rigid_model`
    std::size_t left_out = 0;              ///< rows of the trace that are no job: without devices, or without run time

    /// Whether a job of this workload runs on processors, and not on devices.
    [[nodiscard]] bool runs_on_cpu(job_description const& job) const noexcept { return models[job.model]->cores(job) > 0; }
};

/// Nodes of one kind.
struct node_group {
    std::size_t nodes = 0;
    std::int64_t devices = 0;   ///< on each
    std::uint32_t type = 0;     ///< index into `cluster::types`
    double cores = 0;           ///< CPU of each; jobs on processors share those of the first node
};

/// The machines of a simulation.
struct cluster {
    std::vector<node_group> groups;
    std::vector<std::string> types{"gpu"};
};

}  // namespace ration::sim
