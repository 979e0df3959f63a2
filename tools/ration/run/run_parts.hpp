// SPDX-License-Identifier: BSL-1.0
/// Objects that a run needs and does not own.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <ration/host/any_estimator.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/host/settle.hpp>

#include "policies/policy_log.hpp"
#include "run/gpu_shares.hpp"
#include "run/host_devices.hpp"
#include "run/job_source.hpp"
#include "run/node_backend.hpp"
#include "run/orphaned_runs.hpp"
#include "run/phase_models.hpp"
#include "run/reporter.hpp"
#include "run/run_directory.hpp"
#include "run/run_order.hpp"
#include "run/stop_signals.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {

struct run_parts {
    run_config const& config;
    job_source& source;
    std::size_t slots;  ///< the number of jobs that can be in the run at once, at least those of `config`
    planned_run const& planned;
    std::unique_ptr<any_policy>& policy;                         ///< can be exchanged during the run
    any_policy& fallback;                                        ///< decides once ration no longer calls the policy
    std::span<std::unique_ptr<any_estimator> const> estimators;  ///< from files
    node_backend& node;
    host_devices const& devices;
    gpu_shares const* shares;  ///< null: the devices are no shares of a GPU
    machine_topology const& topology;
    policy_log& log;
    reporter& out;
    run_directory& directory;
    std::string run;            ///< its name
    std::string output_folder;  ///< where the jobs' output goes
    stop_signals& signals;
    settle_rules settle{};                     ///< the hysteresis of grants
    orphaned_run const* reattached = nullptr;  ///< an earlier run to continue
    phase_models phases{};                     ///< of the classes of jobs; empty: no policy reads phases
};

}  // namespace ration::program
