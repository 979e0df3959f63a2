// SPDX-License-Identifier: BSL-1.0
// FfDL: all learners of a job at once or one at a time, and learners packed or spread. Source: K. R. Jayaram et al., "FfDL: A Flexible
// Multi-tenant Deep Learning Platform", Middleware 2019, arXiv:1909.06526.
#pragma once

#include <algorithm>
#include <memory>

#include <ration/policies/gang.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/sim/arrivals.hpp>
#include <ration/sim/dice.hpp>

#include "scene.hpp"

namespace published {

struct ffdl_scale {
    std::uint64_t gang_runs = 20;     ///< of each mix; the paper repeats 20 times
    std::size_t placed_jobs = 10'000; ///< of a comparison of placements
};

namespace ffdl {

struct learners {
    std::int64_t count, devices;  ///< of each
};

/// Jobs of so many learners arrive independently of each other; all devices are wanted for `load` of the time.
[[nodiscard]] inline sim::workload gangs(learners of, std::size_t jobs, double load, std::int64_t devices, std::uint64_t seed) {
    constexpr double mean_seconds = 3600;
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    std::int64_t const asked = of.count * of.devices;
    auto const times = sim::arrivals(sim::arrival_pattern::poisson, load * static_cast<double>(devices) / static_cast<double>(asked), jobs, seed);
    for (std::size_t j = 0; j < jobs; ++j)  // may hold one learner alone, but runs with all
        w.jobs.push_back({.submitted = times[j], .request = asked, .least = of.devices, .most = asked,
                          .length = 1 + mean_seconds * sim::dice(seed, 7).exponential(j)});
    return w;
}

/// Counts devices that jobs hold which still lack learners: idle in a deadlock, unless a learner becomes free some day.
class deadlock_watch final : public sim::run_observer {
    sim::workload const& jobs_;
    std::vector<std::int64_t> held_;
    std::int64_t stuck_ = 0, most_ = 0;
    double stuck_seconds_ = 0;
    nanoseconds last_{0};

public:
    explicit deadlock_watch(sim::workload const& jobs) : jobs_(jobs), held_(jobs.jobs.size()) {}

    void submitted(nanoseconds now, std::uint64_t) noexcept override { advance(now); }
    void finished(nanoseconds now, std::uint64_t) noexcept override { advance(now); }
    void holds(nanoseconds now, std::uint64_t job, std::int64_t devices) noexcept override {
        advance(now);
        auto const stuck = [&](std::int64_t k) { return k < jobs_.jobs[job - 1].request ? k : 0; };
        stuck_ += stuck(devices) - stuck(held_[job - 1]);
        held_[job - 1] = devices;
    }
    /// To be called last with the end of the run, at which what is stuck counts as well.
    void advance(nanoseconds now, bool ends = false) noexcept {
        if (now > last_ || ends) most_ = std::max(most_, stuck_);
        stuck_seconds_ += static_cast<double>(stuck_) * to_seconds(now - last_);
        last_ = now;
    }
    [[nodiscard]] std::int64_t most() const noexcept { return most_; }
    [[nodiscard]] double seconds() const noexcept { return stuck_seconds_; }
};

/// Of all repetitions with one mix.
struct gang_row {
    std::uint64_t runs = 0, with_idle = 0, never_end = 0;
    double mean_idle = 0, most_idle = 0;  ///< shares of the devices
};

template <Policy P>
[[nodiscard]] gang_row repeat(learners of, P const& rule, std::uint64_t runs) {
    constexpr std::size_t jobs = 50;
    constexpr std::int64_t nodes = 15, each = 4;
    gang_row row;
    double capacity = 0;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        auto const w = gangs(of, jobs, 0.9, nodes * each, seed);
        deadlock_watch watch(w);
        auto const run = simulate(w, nodes_of(nodes, each), rule, {.interval = {}, .seed = seed, .observer = &watch});
        watch.advance(run.end, true);
        ++row.runs, row.with_idle += watch.most() > 0, row.never_end += run.how == sim::ending::starved;
        row.mean_idle += watch.seconds(), capacity += run.capacity_seconds;
        row.most_idle = std::max(row.most_idle, static_cast<double>(watch.most()) / (nodes * each));
    }
    row.mean_idle /= capacity;
    return row;
}

inline void gang_against_one_at_a_time(ffdl_scale const& scale, findings& found) {
    found.print("50 jobs on 15 nodes of 4 devices, %llu runs of each mix; idle: devices of jobs whose other learners fit nowhere\n"
                "%-20s %-8s %10s %10s %10s %10s\n", static_cast<unsigned long long>(scale.gang_runs), "learners x devices", "rule", "runs idle",
                "never end", "mean idle", "most idle");
    gang_row one_by_one, together, alone;
    auto const add = [&](learners of, char const* name, gang_row const& row, gang_row& all) {
        found.print("%lld x %-16lld %-8s %10llu %10llu %9.1f%% %9.1f%%\n", static_cast<long long>(of.count), static_cast<long long>(of.devices), name,
                    static_cast<unsigned long long>(row.with_idle), static_cast<unsigned long long>(row.never_end), 100 * row.mean_idle, 100 * row.most_idle);
        all.runs += row.runs, all.with_idle += row.with_idle, all.never_end += row.never_end, all.most_idle = std::max(all.most_idle, row.most_idle);
    };
    for (learners const of : {learners{2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}}) {
        add(of, "pack", repeat(of, policies::pack({.learner = of.devices}), scale.gang_runs), one_by_one);
        add(of, "spread", repeat(of, policies::spread({.learner = of.devices}), scale.gang_runs), one_by_one);
        add(of, "gang", repeat(of, policies::gang({.learner = of.devices}), scale.gang_runs), together);
    }
    for (learners const of : {learners{1, 1}, {1, 4}}) add(of, "pack", repeat(of, policies::pack({.learner = of.devices}), scale.gang_runs), alone);
    found.expect(one_by_one.with_idle > 0 && one_by_one.most_idle >= 0.4, "learner at a time: devices idle in deadlocks, 40 % of all and more at worst");
    found.expect(one_by_one.never_end > 0, "learner at a time: some runs end in a deadlock of all");
    found.expect(together.with_idle == 0 && together.never_end == 0, "gang: no device is ever idle in a deadlock, and all jobs end");
    found.expect(alone.with_idle == 0 && alone.never_end == 0, "control: jobs of one learner never deadlock, gang or not");
}

/// How many jobs of each size wait for more than 15 minutes.
struct long_waits {
    std::size_t all = 0, large = 0;
};

/// Jobs of 1, 2 and 4 devices; of 1 alone for the control.
[[nodiscard]] inline sim::workload sizes(std::size_t jobs, double load, std::int64_t devices, bool ones, std::uint64_t seed) {
    constexpr double mean_hours = 2;
    double const mean_devices = ones ? 1 : 0.7 + 2 * 0.15 + 4 * 0.15;
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    auto const times = sim::arrivals(sim::arrival_pattern::poisson, load * static_cast<double>(devices) / mean_devices / mean_hours, jobs, seed);
    sim::dice const size(seed, 8), length(seed, 9);
    for (std::size_t j = 0; j < jobs; ++j) {
        double const u = size.uniform(j);
        std::int64_t const asked = ones || u < 0.7 ? 1 : u < 0.85 ? 2 : 4;
        w.jobs.push_back({.submitted = times[j], .request = asked, .least = asked, .most = asked, .length = 1 + 3600 * mean_hours * length.exponential(j)});
    }
    return w;
}

template <Policy P>
[[nodiscard]] long_waits waits_under(sim::workload const& w, std::size_t nodes) {
    auto const run = simulate(w, nodes_of(nodes, 4), P());
    long_waits found;
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
        bool const is_long = run.jobs[j].started.count < 0 || run.jobs[j].started - run.jobs[j].submitted > seconds(900);
        found.all += is_long, found.large += is_long && w.jobs[j].request == 4;
    }
    return found;
}

inline void pack_against_spread(ffdl_scale const& scale, findings& found) {
    constexpr std::size_t nodes = 100;
    found.print("\n%zu jobs on 100 nodes of 4 devices: how many wait for more than 15 minutes (of these: jobs of 4 devices)\n%-22s %17s %17s %8s\n",
                scale.placed_jobs, "load", "spread", "pack", "ratio");
    auto const row = [&](char const* what, double load, bool ones) {
        auto const w = sizes(scale.placed_jobs, load, nodes * 4, ones, 3);
        auto const wide = waits_under<policies::spread>(w, nodes), narrow = waits_under<policies::pack>(w, nodes);
        found.print("%-16s %4.0f%% %8zu (%6zu) %8zu (%6zu) %8.1f\n", what, 100 * load, wide.all, wide.large, narrow.all, narrow.large,
                    static_cast<double>(wide.all) / static_cast<double>(std::max<std::size_t>(narrow.all, 1)));
        return std::pair{wide, narrow};
    };
    for (double const load : {0.85, 0.9, 0.95}) {
        auto const [wide, narrow] = row("1, 2, 4 devices", load, false);
        char what[100];
        std::snprintf(what, sizeof what, "at %.0f %% load packing leaves a third of the long waits or fewer", 100 * load);
        found.expect(wide.all > 0 && wide.all >= 3 * narrow.all && wide.large >= 3 * narrow.large, what);
    }
    auto const [wide, narrow] = row("1 device", 1.02, true);
    found.expect(wide.all > 0 && wide.all == narrow.all, "control: where every job wants one device, both leave the same long waits");
}

}  // namespace ffdl

[[nodiscard]] inline findings ffdl_scenario(ffdl_scale const& scale = {}) {
    findings found;
    ffdl::gang_against_one_at_a_time(scale, found);
    ffdl::pack_against_spread(scale, found);
    return found;
}

}  // namespace published
