// SPDX-License-Identifier: BSL-1.0
/// The figures of each tenant in a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ration/sim/outcome.hpp>
#include <ration/sim/summary.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// The figures of one tenant, with the jobs of the tenants below it. Times are in seconds.
struct tenant_figures {
    std::size_t jobs = 0, never_started = 0;
    double mean_wait = no_figure, p99_wait = no_figure,
           worst_wait = no_figure;  ///< from submission to the first devices
    double held = no_figure;        ///< its part of all device-seconds that were held
    double weight = no_figure;      ///< its part by the weights: that of its parent, divided among the children
};

namespace detail {

/// The part of each tenant by the weights. Tenants without a parent divide 1.
[[nodiscard]] inline std::vector<double> weight_shares(std::vector<tenant_description> const& tenants) {
    std::vector<double> shares(tenants.size());
    for (std::size_t t = 0; t < tenants.size(); ++t) {
        double all = 0;
        for (auto const& other : tenants)
            if (other.parent == tenants[t].parent) all += other.weight;
        double const above = tenants[t].parent == no_tenant ? 1 : shares[tenants[t].parent];
        shares[t] = above * tenants[t].weight / all;
    }
    return shares;
}

}  // namespace detail

/// One entry for each row of the table `tenants`. O(jobs x depth + jobs log jobs + tenants^2).
[[nodiscard]] inline std::vector<tenant_figures> tenant_figures_of(workload const& jobs, run_outcome const& run) {
    auto const tenants = tenants_of(jobs);
    auto const shares = detail::weight_shares(tenants);
    std::vector<tenant_figures> all(tenants.size());
    std::vector<std::vector<double>> waits(tenants.size());
    std::vector<double> held(tenants.size());
    double held_by_all = 0;
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        job_outcome const& job = run.jobs[i];
        held_by_all += job.device_seconds;
        for (std::uint32_t t = jobs.jobs[i].tenant; t != no_tenant; t = tenants[t].parent) {
            ++all[t].jobs;
            held[t] += job.device_seconds;
            if (job.started.count < 0)
                ++all[t].never_started;
            else
                waits[t].push_back(to_seconds(job.started - job.submitted));
        }
    }
    for (std::size_t t = 0; t < all.size(); ++t) {
        std::sort(waits[t].begin(), waits[t].end());
        all[t].mean_wait = mean_of(waits[t]);
        all[t].p99_wait = quantile(waits[t], 0.99);
        all[t].worst_wait = quantile(waits[t], 1);
        all[t].weight = shares[t];
        if (held_by_all > 0) all[t].held = held[t] / held_by_all;
    }
    return all;
}

}  // namespace ration::sim
