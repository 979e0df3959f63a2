// SPDX-License-Identifier: BSL-1.0
/// Settings of a simulated run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include <ration/host/column_memory.hpp>
#include <ration/host/engine.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/host/settle.hpp>
#include <ration/policy.hpp>
#include <ration/sim/clock.hpp>
#include <ration/sim/faults.hpp>
#include <ration/sim/item_reads.hpp>
#include <ration/sim/outcome.hpp>
#include <ration/sim/prediction_noise.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Settings of a simulated run.
struct sim_options {
    /// A tick at every multiple of this time, besides ticks at events; 0 = at events only
    nanoseconds interval = seconds(60);
    nanoseconds limit = longest_run;  ///< of the simulated time; at most `longest_run`
    settle_rules settle{.dead_band = 0, .dwell = {}, .grace = {}};
    std::uint64_t seed = 0;
    bool stop_at_bad_grant = false;   ///< otherwise the run continues with the valid grants
    std::span<fault const> faults{};  ///< in order of time, for nodes of the cluster; they outlive the run
    fault_rates rates{};              ///< by which `faults` came about, for the column `nodes/hazard`
    /// Interval of checkpoints, to which a fault sets jobs back, unless a policy sets another one; 0 = continuously
    nanoseconds checkpoint{0};
    nanoseconds save{0};       ///< duration of a checkpoint, in which the job makes no steps
    prediction_noise noise{};  ///< of the predictions that policies read
    /// Of columns that policies read instead of the exact ones; nullptr = none; outlives the run
    estimator_stage* estimators = nullptr;
    nanoseconds half_life{0};  ///< of the usage of tenants; 0 = it never decays
    /// CPU of a node that its jobs get together at most. Policies see all of its cores
    double most_used_cores = std::numeric_limits<double>::infinity();
    /// By type of devices: money for a device-hour, for `run_outcome::cost`; empty = none; outlives the run
    std::span<double const> prices{};
    std::optional<item_cache_options> cache{};  ///< without it, jobs read data sets at any speed
    run_observer* observer = nullptr;           ///< outlives the run
    /// Jobs of a stream that may be active at once. The engine and the policy reserve address space for that many.
    std::size_t most_active = 1'048'576;
    /// Memory of the columns, for policies in worker processes; nullptr: the heap
    column_memory* columns = nullptr;
};

/// The settings of the engine of a run.
[[nodiscard]] inline engine_options engine_options_of(sim_options const& options) noexcept {
    return {.settle = options.settle,
            .seed = options.seed,
            .half_life = options.half_life,
            .estimates = options.estimators};
}

/// Rows of the jobs table for this number of active jobs: rows of ended ones are removed when they are a quarter of
/// all.
[[nodiscard]] constexpr std::size_t rows_for(std::size_t active) noexcept { return active / 3 * 4 + 64; }

/// The most holdings of devices at a time, for the size of tables: few jobs cannot hold all devices of a large cluster.
[[nodiscard]] constexpr std::size_t most_holdings(workload_shape const& jobs, std::size_t devices) noexcept {
    constexpr std::size_t of_any_cluster = 1'000'000;
    return std::min(devices, std::max(of_any_cluster, jobs.all_devices));
}

/// The most grants of one answer. It can release all holdings and grant them to others, each with a batch; some
/// policies also emit a grant for each queued job.
[[nodiscard]] constexpr std::size_t largest_answer(limits const& most, std::size_t holdings) noexcept {
    constexpr std::size_t reported_jobs = 65'536;
    return 4 * holdings + 2 * most.nodes + 2 * std::min(most.jobs, reported_jobs) + 64;
}

}  // namespace ration::sim
