// SPDX-License-Identifier: BSL-1.0
/// What `ration sim` is given, read and checked: machines, workloads, parameters of policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/estimators/phase_model.hpp>
#include <ration/sim/bounds.hpp>
#include <ration/sim/simulation.hpp>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "sim/cluster_option.hpp"
#include "sim/options.hpp"
#include "sim/stream.hpp"

namespace ration::program {

/// One workload that every policy runs.
struct sample {
    sim::workload jobs;
    std::uint64_t seed = 0;
    std::vector<sim::job_needs> needs;  ///< of each job on the machines
    sim::lower_bounds bounds;
    std::vector<sim::fault> faults{};
    nanoseconds faults_until{};                     ///< nothing goes wrong afterwards
    std::vector<estimators::phase_model> phases{};  ///< by class, with --estimate phases
    /// Jobs that are not kept; then `jobs` has their models only, and there are no `needs` and no `bounds`
    std::optional<job_stream> stream{};

    /// The number of jobs.
    [[nodiscard]] std::size_t size() const {
        return stream ? std::visit([](auto const& one) { return size_of(one); }, *stream) : jobs.jobs.size();
    }
};

struct simulation_input {
    sim::cluster machines;
    bool is_recorded = false;     ///< the machines are those of a log, and not of --cluster
    std::vector<sample> samples;  ///< at least one, none of them empty
    sim::fault_rates rates;       ///< of all samples
    std::vector<double> prices;   ///< by type, for an hour of a device; empty without --price
    sim::prediction_noise noise;  ///< of the predictions that policies read
    std::vector<bool> is_exact;   ///< by policy: it reads exact values beside estimates; empty without --estimate
    std::optional<sim::item_cache_options> cache{};  ///< for the data sets that jobs read
    nanoseconds half_life{};                         ///< of the usage of tenants; 0 = it never decays
    settle_rules settle = sim::sim_options{}.settle;
    double most_used_cores = sim::sim_options{}.most_used_cores;  ///< as in `sim::sim_options`
    run_config settings;               ///< the parameters of policies, as a jobs file would say them
    std::vector<std::string> remarks;  ///< whole sentences on what was left out or not done as asked
};

/// "60", "90s", "2h": seconds where the unit is missing. At most 365 days.
[[nodiscard]] std::optional<nanoseconds> parse_sim_time(std::string_view text) noexcept;

/// The sentence on jobs that last longer than the clock of a simulation; `what` is its begin.
[[nodiscard]] std::string beyond_clock(std::string_view what);

/// Everything that the options name. If one is added to `problems`, the returned input is incomplete.
[[nodiscard]] simulation_input read_simulation(simulation_options const& options, diagnostics& problems);

}  // namespace ration::program
