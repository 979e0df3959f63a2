// SPDX-License-Identifier: BSL-1.0
/// The start of a run on several nodes: runs of these jobs whose controller was killed, and nodes that start.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include <ration/result.hpp>

#include "common/diagnostics.hpp"
#include "nodes/agent_claims.hpp"
#include "nodes/cluster_loop.hpp"
#include "nodes/earlier_runs.hpp"

namespace ration::program {

/// The run that `--reattach` continues, the newest of `earlier`, from which it is removed; none: all jobs are new.
/// Errors: the jobs file has changed since, or a node of the run is missing.
[[nodiscard]] result<std::optional<earlier_run>, diagnostic> choose_run(run_options const& options,
                                                                        run_config const& config,
                                                                        std::vector<node_spec> const& nodes,
                                                                        std::vector<earlier_run>& earlier);

/// When the run of this clock began, since 1970.
[[nodiscard]] nanoseconds start_of(run_clock clock);
/// The clock of the run that `record` describes.
[[nodiscard]] run_clock clock_of(cluster_record const& record);

/// Until no agent is left that holds one of these claims. False: the user interrupted it.
[[nodiscard]] bool await_agents(agent_claims const& claims, stop_signals& signals);

/// Enters in the registry on which nodes the jobs of the record can be alive.
void expect_jobs(cluster_record const& record, run_config const& config, cluster_nodes& nodes, nanoseconds now);

/// Continues the launches of the record. Pre: as of `cluster_jobs::restore`.
void restore_jobs(cluster_record const& record, cluster_jobs& jobs, nanoseconds now);

[[nodiscard]] bool any_up(cluster_nodes const& nodes);

/// Until each node is up or left out; for 5 s if those that are up then suffice. With `reattach`, for 10 s, since the
/// others may be lost, and for up to 60 s while none is up. Returns the reports that came meanwhile; none: the user
/// interrupted it.
[[nodiscard]] std::optional<std::vector<early_report>> await_nodes(cluster_nodes& nodes, stop_signals& signals,
                                                                   run_clock clock, bool reattach,
                                                                   std::function<bool()> const& suffice);

/// Ends all nodes. Waits until their commands have ended, and kills those that do not.
void end_nodes(cluster_nodes& nodes, run_clock clock);

}  // namespace ration::program
