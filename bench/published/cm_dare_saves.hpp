// SPDX-License-Identifier: BSL-1.0
// Checkpoints by the age of transient servers, with the policy `save_by_age`, against the best of fixed intervals.
// Source: as cm_dare.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <ration/assert.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/save_by_age.hpp>
#include <ration/sim/parametric_model.hpp>

#include "scene.hpp"

namespace published::cm_dare {

/// Jobs of 8 hours. Each has one server. A checkpoint takes as long as that of a model of some 100 MB.
struct saving_jobs {
    std::size_t jobs = 200;
    std::uint64_t seeds = 5;
};
inline constexpr double hours_of_work = 8, seconds_of_save = 5;
inline constexpr double fixed_intervals[] = {120, 180, 240, 300, 400, 500, 600, 800, 1000, 1300, 1700, 2200, 3600};

/// Seconds of a job for checkpoints and lost work, on average. `fixed`: seconds between two checkpoints; 0: `policy`
/// chooses.
[[nodiscard]] inline double waste_of(sim::fault_rates const& rates, saving_jobs const& of, double fixed,
                                     any_policy& policy, std::uint64_t seed) {
    constexpr double horizon = 4 * 86400.0;
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    for (std::size_t job = 0; job < of.jobs; ++job)
        w.jobs.push_back({.request = 1, .least = 1, .most = 1, .length = hours_of_work * 3600});
    auto const machines = nodes_of(of.jobs, 1);
    auto const faults = sim::make_faults(rates, machines, seed, seconds(horizon));
    auto const run = simulate(w, machines, policy,
                              {.interval = seconds(fixed > 0 ? 0 : 60),
                               .seed = seed,
                               .faults = faults,
                               .rates = rates,
                               .checkpoint = seconds(fixed > 0 ? fixed : 3600),
                               .save = seconds(seconds_of_save)});
    RATION_ASSERT(run.end < seconds(horizon), "jobs of 8 hours outlive the faults that were drawn");
    double held = 0;
    for (auto const& job : run.jobs) held += job.device_seconds;
    return held / static_cast<double>(of.jobs) - hours_of_work * 3600;
}

/// The waste over all seeds, by age and with the best fixed interval.
struct waste {
    std::vector<double> by_age, best;
    double best_interval = 0;

    /// Of all seeds together: by age relative to the best fixed interval.
    [[nodiscard]] double ratio() const noexcept { return sum(by_age) / sum(best); }
    /// The same seed by seed.
    [[nodiscard]] over_seeds ratios() const {
        std::vector<double> all;
        for (std::size_t s = 0; s < best.size(); ++s) all.push_back(by_age[s] / best[s]);
        return over_seeds(all);
    }
    [[nodiscard]] static double sum(std::vector<double> const& all) noexcept {
        return std::accumulate(all.begin(), all.end(), 0.0);
    }
};

[[nodiscard]] inline waste compare_waste(sim::fault_rates const& rates, saving_jobs const& of) {
    policy_adapter<policies::save_by_age> by_age;
    policy_adapter<policies::fifo> plain;
    waste found;
    for (std::uint64_t seed = 1; seed <= of.seeds; ++seed) found.by_age.push_back(waste_of(rates, of, 0, by_age, seed));
    for (double const interval : fixed_intervals) {
        std::vector<double> fixed;
        for (std::uint64_t seed = 1; seed <= of.seeds; ++seed)
            fixed.push_back(waste_of(rates, of, interval, plain, seed));
        if (!found.best.empty() && waste::sum(fixed) >= waste::sum(found.best)) continue;
        found.best = fixed;
        found.best_interval = interval;
    }
    return found;
}

/// Mean lifetime of the servers of the control, which are lost at an age that does not matter.
inline constexpr double mean_lifetime = 8 * 3600;

/// `constant`: the faults of the control. A hazard that changes with the age of a server breaks it.
inline void save_table(findings& found, saving_jobs const& of, sim::fault_rates const& constant) {
    found.print(
        "\n| jobs of 8 h on transient servers, a checkpoint takes %.0f s, %llu seeds | best fixed interval | s for checkpoints and lost work | the same by age | ratio, median (least to most) |\n"
        "|---|---|---|---|---|\n",
        seconds_of_save, static_cast<unsigned long long>(of.seeds));
    auto const row = [&](std::string const& name, sim::fault_rates const& rates) {
        auto const w = compare_waste(rates, of);
        double const seeds = static_cast<double>(of.seeds);
        found.print("| %s | %.0f s | %.0f | %.0f | %s |\n", name.c_str(), w.best_interval, waste::sum(w.best) / seeds,
                    waste::sum(w.by_age) / seeds, w.ratios().text(2).c_str());
        return w.ratio();
    };
    std::size_t better = 0;
    double most = 0;
    for (auto const& servers : sim::transient_servers) {
        double const ratio =
            row(std::string(servers.gpu) + ' ' + std::string(servers.region), {.lifetime = servers, .startup = 90});
        better += ratio <= 0.85;
        most = std::max(most, ratio);
    }
    found.expect(better >= 10,
                 "checkpoints by age waste at least 15 % less than the best fixed interval in 10 of 12 pairs");
    found.expect(most < 1, "and less in every pair");
    double const same = row("control: exponential lifetimes", constant);
    found.expect(same > 0.97 && same < 1.03, "control: with exponential lifetimes both waste the same, within 3 %");
}

}  // namespace published::cm_dare
