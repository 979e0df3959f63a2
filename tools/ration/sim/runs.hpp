// SPDX-License-Identifier: BSL-1.0
/// Runs every policy on every sample, in parallel, and keeps the results of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ration/sim/summary.hpp>
#include <ration/sim/tenant_figures.hpp>

#include "common/diagnostics.hpp"
#include "sim/decisions.hpp"
#include "sim/input.hpp"
#include "sim/job_list.hpp"

namespace ration::program {

/// A quantity over simulated time: means over stretches of `width`.
struct drawn_series {
    std::vector<double> means;
    nanoseconds width{};
};

/// One policy on one sample.
struct simulated_run {
    std::size_t policy = 0, sample = 0;  ///< places on the command line
    sim::run_outcome outcome;
    sim::figures figures;
    std::optional<streamed_times> times;       ///< of a stream; then `outcome.jobs` is empty
    std::vector<sim::tenant_figures> tenants;  ///< by row; empty without --tenants
    drawn_series devices, cores;               ///< held, of devices; got, of cores
    std::vector<job_history> ways;             ///< of each job, in the first sample, if a caller reads them
    /// The same, with the node whose cores the job runs on as the amount; empty where the first node has all cores
    std::vector<job_history> nodes;
    drawn_series there, queue;  ///< jobs that are submitted and not done; those of them that wait
    std::optional<lost_tick> lost;
    std::string failure;       ///< why there was no run; then the other fields mean nothing
    decision_times decisions;  ///< measured, as is `wall`
    double wall = 0;           ///< seconds
};

/// How far all runs are, for another thread.
struct runs_progress {
    std::atomic<std::uint64_t> jobs_done{0}, runs_done{0};
    std::uint64_t jobs = 0, runs = 0;
};

struct policy_text {
    std::string name;         ///< as on the command line
    std::string id, version;  ///< as it calls itself
    std::string label;        ///< what it is called in tables: its name, or its file's without the folder
    bool follows_changes = false;
    bool reads_estimates = false;  ///< of what an estimator can compute
};

/// Tries every policy on the columns that these runs offer. Adds what is wrong to `problems`.
[[nodiscard]] std::vector<policy_text> try_policies(simulation_options const& options, simulation_input const& input,
                                                    diagnostics& problems);

/// True if a run would end after `sim::longest_run`. It counts as failed.
[[nodiscard]] bool exceeds_clock(simulation_options const& options, sim::run_outcome const& outcome) noexcept;

/// In the order of the command line: all samples of the first policy, then those of the next.
[[nodiscard]] std::vector<simulated_run> run_all(simulation_options const& options, simulation_input const& input,
                                                 runs_progress& progress);

/// How many runs at the same time: what was asked for, else one for each core; never more than there are runs.
[[nodiscard]] std::size_t threads_for(simulation_options const& options, std::size_t runs) noexcept;

/// One sentence for each thing that did not go well in a run: wrong grants, ticks without an answer, jobs that are
/// not started.
[[nodiscard]] std::vector<std::string> remarks_on(simulated_run const& run, std::string const& policy,
                                                  simulation_input const& input);

}  // namespace ration::program
