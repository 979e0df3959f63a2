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
    double cached = no_figure;      ///< part of the bytes that its jobs read which came from the cache
    double speed = no_figure;       ///< mean speed of jobs that read, as a part of that with all data cached
    double weight = no_figure;      ///< its part by the weights: that of its parent, divided among the children
};

namespace detail {

/// The part of each tenant by the weights. Tenants without a parent divide 1.
[[nodiscard]] inline std::vector<double> weight_shares(std::vector<tenant_description> const& tenants) {
    std::vector<double> shares(tenants.size()), of_children(tenants.size() + 1);
    auto const family = [&](tenant_description const& one) -> double& {
        return of_children[one.parent == no_tenant ? tenants.size() : one.parent];
    };
    for (auto const& one : tenants) family(one) += one.weight;
    for (std::size_t t = 0; t < tenants.size(); ++t) {
        double const above = tenants[t].parent == no_tenant ? 1 : shares[tenants[t].parent];
        shares[t] = above * tenants[t].weight / family(tenants[t]);
    }
    return shares;
}

/// What the jobs of each tenant and of the tenants below it have read.
[[nodiscard]] inline std::vector<tenant_reads> reads_with_children(std::vector<tenant_description> const& tenants,
                                                                   std::vector<tenant_reads> const& own) {
    std::vector<tenant_reads> all(tenants.size());
    for (std::size_t t = 0; t < own.size(); ++t)
        for (auto above = static_cast<std::uint32_t>(t); above != no_tenant; above = tenants[above].parent) {
            all[above].bytes += own[t].bytes;
            all[above].cached += own[t].cached;
            all[above].running += own[t].running;
            all[above].at_full_speed += own[t].at_full_speed;
        }
    return all;
}

}  // namespace detail

/// One entry for each row of the table `tenants`. O(jobs x depth + jobs log jobs + tenants x depth).
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
    auto const reads = detail::reads_with_children(tenants, run.reads);
    for (std::size_t t = 0; t < all.size(); ++t) {
        if (reads[t].bytes > 0) all[t].cached = reads[t].cached / reads[t].bytes;
        if (reads[t].running > 0) all[t].speed = reads[t].at_full_speed / reads[t].running;
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
