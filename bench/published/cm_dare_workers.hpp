// SPDX-License-Identifier: BSL-1.0
// The cost of revoked workers for a job that waits for all of them, and one with a parameter server that continues with
// the others. Source: as cm_dare.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/max_min.hpp>
#include <ration/sim/parametric_model.hpp>

#include "scene.hpp"

namespace published::cm_dare {

/// One job of 8 hours that saves every half hour, with 4 workers on 4 servers.
struct training {
    bool is_asynchronous = true;
    sim::server_lifetime const* servers = nullptr;  ///< transient; nullptr: they stay
    double save = 0;                                ///< seconds
};

struct trained {
    double hours = 0, lost = 0;  ///< lost: device-hours
    std::uint32_t stops = 0;
};

inline constexpr double alone_hours = 8;

[[nodiscard]] inline trained train(training const& how, std::uint64_t seed) {
    constexpr std::int64_t workers = 4;
    constexpr double start = 75;  // seconds; the same authors measured 74 to 91 for a framework on a new server
    sim::workload w;
    double const work = alone_hours * 3600;
    if (how.is_asynchronous) {
        w.models.push_back(std::make_shared<sim::parameter_server_model>(std::vector<double>{1}, 1e9));
        w.jobs.push_back(
            {.request = workers, .least = 1, .most = workers, .length = workers * work, .restart_cost = start});
    } else {
        w.models.push_back(std::make_shared<sim::rigid_model>());
        w.jobs.push_back(
            {.request = workers, .least = workers, .most = workers, .length = work, .restart_cost = start});
    }
    std::vector<sim::fault> faults;
    auto const machines = nodes_of(workers, 1);
    if (how.servers != nullptr)
        faults = sim::make_faults({.lifetime = *how.servers}, machines, seed, seconds(30 * 86400.0));
    auto const run = simulate(
        w, machines, policies::max_min(),
        {.interval = {}, .seed = seed, .faults = faults, .checkpoint = seconds(1800), .save = seconds(how.save)});
    auto const& job = run.jobs[0];
    return {.hours = to_seconds(job.finished) / 3600, .lost = job.lost_device_seconds / 3600, .stops = job.stops};
}

struct trained_often {
    over_seeds hours, lost, stops;
};
[[nodiscard]] inline trained_often train_often(training const& how) {
    std::vector<double> hours, lost, stops;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto const one = train(how, seed);
        hours.push_back(one.hours);
        lost.push_back(one.lost);
        stops.push_back(one.stops);
    }
    return {over_seeds(hours), over_seeds(lost), over_seeds(stops)};
}

/// `control_servers`: those of the control; nullptr: they stay.
inline void worker_table(findings& found, sim::server_lifetime const* control_servers) {
    constexpr double save = 5;  // seconds: of a model of some 100 MB, by checkpoint times of the same authors
    auto const* const servers = sim::find_transient_servers("P100", "us-east1");
    found.print(
        "\n| 8 h on 4 P100 servers of us-east1, 20 seeds: median (least to most) | hours | stops | device-hours lost |\n|---|---|---|---|\n");
    auto const row = [&](char const* name, training const& how) {
        auto const t = train_often(how);
        found.print("| %s | %s | %s | %s |\n", name, t.hours.text(2).c_str(), t.stops.text(0).c_str(),
                    t.lost.text(2).c_str());
        return t;
    };
    auto const together =
        row("workers that wait for each other", {.is_asynchronous = false, .servers = servers, .save = save});
    auto const alone = row("workers with a parameter server", {.servers = servers, .save = save});
    auto const quick = row("the same, saves that take no time", {.servers = servers});
    auto const steady = row("the same, servers that stay", {.servers = control_servers, .save = save});
    auto const steady_together = row("workers that wait for each other, servers that stay",
                                     {.is_asynchronous = false, .servers = control_servers, .save = save});
    found.expect(alone.stops.most == 0 && alone.lost.most == 0,
                 "a revoked worker never stops an asynchronous job, which loses no step");
    found.expect(together.stops.median >= 1 && together.lost.median > 0,
                 "it stops a synchronous job, and takes it back to its last checkpoint");
    found.expect(alone.hours.median < together.hours.median, "so the asynchronous job is done earlier");
    found.expect(quick.hours.median < alone.hours.median, "saves that take time make it later");
    found.expect(steady.hours.least == steady.hours.most && steady.hours.median == steady_together.hours.median,
                 "control: on servers that stay both take the same time to the nanosecond, whatever the seed");
    // A start and a save before each half hour but the first
    double const expected = alone_hours + (75 + 15 * save) / 3600;
    found.expect(steady.hours.median > expected - 1e-6 && steady.hours.median < expected + 1e-6,
                 "control: there that time is work + start + 15 saves");
}

}  // namespace published::cm_dare
