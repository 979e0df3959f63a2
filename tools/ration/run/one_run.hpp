// SPDX-License-Identifier: BSL-1.0
/// One run of one policy, from its resources to its end: the path that `ration run` and `ration serve` share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <ration/host/any_estimator.hpp>
#include <ration/host/any_policy.hpp>
#include <ration/host/settle.hpp>
#include <ration/progress/receiver.hpp>

#include "comparison/comparison.hpp"
#include "policies/policy_log.hpp"
#include "run/gpu_shares.hpp"
#include "run/host_devices.hpp"
#include "run/job_source.hpp"
#include "run/node_backend.hpp"
#include "run/options.hpp"
#include "run/orphaned_runs.hpp"
#include "run/reporter.hpp"
#include "run/run_directory.hpp"
#include "run/run_order.hpp"
#include "run/stop_signals.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {

/// The parts that all runs of a command share.
struct run_session {
    run_options const& options;
    run_config const& config;
    reporter& out;
    stop_signals& signals;
    host_devices const& devices;
    machine_topology const& topology;
    rlimit open_files;                   ///< of the jobs
    std::size_t slots = 0;               ///< the number of jobs that can be in a run at once
    orphaned_run* reattached = nullptr;  ///< its folder goes to the run that takes it over
};

/// The objects that a run holds until its end.
struct run_resources {
    std::string name;
    run_directory directory;
    std::vector<process::descriptor> checkpoint_locks;
    node_backend node;
    progress::receiver receiver;
};

/// That of the machine, if it has a choice of GPUs.
[[nodiscard]] machine_topology topology_for(host_devices const& devices);

/// `parent`: the folder for the record, as of `run_directory`. Errors: those of the parts; `limit` if the jobs need
/// more open files than the process may have.
[[nodiscard]] result<run_resources> open_resources(run_session const& s, std::string const& parent);

/// The policy of a run, its fallback and its estimators from files, which write to one log. Pre: they can be made from
/// this configuration.
struct run_policies {
    policy_log& log = policy_log::for_good();
    std::unique_ptr<any_policy> policy, fallback;
    std::vector<std::unique_ptr<any_estimator>> estimators;

    run_policies(run_config const& config, std::string_view name);
    /// Policies that need no configuration.
    run_policies(std::unique_ptr<any_policy> chosen, std::unique_ptr<any_policy> other)
        : policy(std::move(chosen)), fallback(std::move(other)) {}
};

/// A run without its resources.
struct run_task {
    run_config const& config;  ///< of the session, with the parameters of this run
    planned_run const& planned;
    run_policies& policies;
    job_source& source;
    std::string output_folder;
    settle_rules settle{};  ///< the hysteresis of its grants
};

/// Runs the jobs until the last one has ended and the source is complete. `end` is called with the summary while the
/// policy and the folder of the run still exist. Errors: the policy needs columns that this host does not have; a
/// daemon that a run needs does not start.
[[nodiscard]] result<run_summary> run_one(run_session const& s, run_resources& resources, run_task const& task,
                                          std::function<void(run_summary const&)> const& end);

}  // namespace ration::program
