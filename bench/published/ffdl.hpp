// SPDX-License-Identifier: BSL-1.0
// FfDL: all learners of a job at once or one at a time, and learners packed or spread. Source: K. R. Jayaram et al.,
// "FfDL: A Flexible Multi-tenant Deep Learning Platform", Middleware 2019, arXiv:1909.06526.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ration/policies/gang.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/sim/arrivals.hpp>
#include <ration/sim/rng.hpp>

#include "ffdl_philly.hpp"
#include "scene.hpp"

namespace published {

struct ffdl_scale {
    std::uint64_t gang_runs = 20;       ///< of each mix; the paper repeats 20 times
    std::uint64_t placed_runs = 5;      ///< of each load
    std::size_t placed_jobs = 10'000;   ///< of each of these
    std::int64_t control_learners = 1;  ///< of a job in the control; more of them can deadlock
    /// Path of a trace of Philly; nullptr: left out, since its terms do not let this project ship it
    char const* philly = nullptr;
};

namespace ffdl {

struct learners {
    std::int64_t count, devices;  ///< of each
};

/// Jobs of this number of learners arrive independently of each other; all devices are wanted for `load` of the time.
[[nodiscard]] inline sim::workload gangs(learners of, std::size_t jobs, double load, std::int64_t devices,
                                         std::uint64_t seed) {
    constexpr double mean_seconds = 3600;
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    std::int64_t const asked = of.count * of.devices;
    auto const times = sim::arrivals(sim::arrival_pattern::poisson,
                                     load * static_cast<double>(devices) / static_cast<double>(asked), jobs, seed);
    for (std::size_t j = 0; j < jobs; ++j)  // may hold one learner alone, but runs with all
        w.jobs.push_back({.submitted = times[j],
                          .request = asked,
                          .least = of.devices,
                          .most = asked,
                          .length = 1 + mean_seconds * sim::rng(seed, 7).exponential(j)});
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

/// Of all repetitions with one mix; idle: shares of the devices, in %.
struct gang_row {
    std::uint64_t with_idle = 0, never_end = 0;
    over_seeds mean_idle, most_idle;
};

template <Policy P>
[[nodiscard]] gang_row repeat(learners of, P const& rule, std::uint64_t runs, double interval = 0) {
    constexpr std::size_t jobs = 50;
    constexpr std::int64_t nodes = 15, each = 4;
    std::uint64_t with_idle = 0, never_end = 0;
    std::vector<double> mean, most;
    for (std::uint64_t seed = 1; seed <= runs; ++seed) {
        auto const w = gangs(of, jobs, 0.9, nodes * each, seed);
        deadlock_watch watch(w);
        auto const run =
            simulate(w, nodes_of(nodes, each), rule, {.interval = seconds(interval), .seed = seed, .observer = &watch});
        watch.advance(run.end, true);
        with_idle += watch.most() > 0;
        never_end += run.how == sim::ending::starved;
        mean.push_back(100 * watch.seconds() / run.capacity_seconds);
        most.push_back(100 * static_cast<double>(watch.most()) / (nodes * each));
    }
    return {with_idle, never_end, over_seeds(std::move(mean)), over_seeds(std::move(most))};
}

inline void print(findings& found, learners of, char const* rule, gang_row const& row) {
    found.print("| %lld × %lld | %s | %llu | %llu | %s | %s |\n", static_cast<long long>(of.count),
                static_cast<long long>(of.devices), rule, static_cast<unsigned long long>(row.with_idle),
                static_cast<unsigned long long>(row.never_end), row.mean_idle.text(1).c_str(),
                row.most_idle.text(0).c_str());
}

/// Deadlocks that last for good, that end after `give_up` seconds, and none.
inline void gang_against_one_at_a_time(ffdl_scale const& scale, findings& found) {
    constexpr double give_up = 300, interval = 60;
    found.print(
        "| learners × devices | rule | of %llu runs with idle devices | that never end | mean idle in %% | most idle in %% |\n|---|---|---|---|---|---|\n",
        static_cast<unsigned long long>(scale.gang_runs));
    double permanent_most = 0;
    std::uint64_t permanent = 0, temporary = 0, together = 0, alone = 0;
    for (learners const of : {learners{2, 1}, {2, 2}, {2, 4}, {4, 1}, {4, 2}, {4, 4}}) {
        auto const kept = repeat(of, policies::pack({.learner = of.devices}), scale.gang_runs);
        auto const freed =
            repeat(of, policies::pack({.learner = of.devices, .give_up = give_up}), scale.gang_runs, interval);
        auto const whole = repeat(of, policies::gang({.learner = of.devices}), scale.gang_runs);
        print(found, of, "one at a time", kept);
        print(found, of, "the same, gives up after 300 s", freed);
        print(found, of, "gang", whole);
        permanent_most = std::max(permanent_most, kept.most_idle.most);
        permanent += kept.never_end;
        temporary += freed.never_end;
        together += whole.with_idle + whole.never_end;
        bool const is_large = of.count * of.devices == 8;  // an eighth of the devices for one job
        if (is_large)
            found.expect(
                freed.most_idle.median >= 20 && freed.most_idle.median <= 50,
                "jobs of 8 devices: temporary deadlocks leave 20 to 50 % of the devices idle at worst, in the median run");
    }
    for (std::int64_t const devices : {1, 4}) {
        auto const row =
            repeat({scale.control_learners, devices}, policies::pack({.learner = devices}), scale.gang_runs);
        alone += row.with_idle + row.never_end;
    }
    found.expect(temporary == 0, "jobs that give up: no deadlock lasts, all runs end");
    found.expect(permanent > 0 && permanent_most == 100,
                 "control: jobs that keep their learners deadlock for good, with all devices idle");
    found.expect(together == 0, "gang: no device is ever idle in a deadlock, and all jobs end");
    found.expect(alone == 0, "control: jobs of one learner never deadlock, gang or not");
}

/// Jobs of 1, 2 and 4 devices; of 1 alone for the control.
[[nodiscard]] inline sim::workload sizes(std::size_t jobs, double load, std::int64_t devices, bool ones,
                                         std::uint64_t seed) {
    constexpr double mean_hours = 2;
    double const mean_devices = ones ? 1 : 0.7 + 2 * 0.15 + 4 * 0.15;
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    auto const times = sim::arrivals(sim::arrival_pattern::poisson,
                                     load * static_cast<double>(devices) / mean_devices / mean_hours, jobs, seed);
    sim::rng const size(seed, 8), length(seed, 9);
    for (std::size_t j = 0; j < jobs; ++j) {
        double const u = size.uniform(j);
        std::int64_t const asked = ones || u < 0.7 ? 1 : u < 0.85 ? 2 : 4;
        w.jobs.push_back({.submitted = times[j],
                          .request = asked,
                          .least = asked,
                          .most = asked,
                          .length = 1 + 3600 * mean_hours * length.exponential(j)});
    }
    return w;
}

[[nodiscard]] inline placed place(ffdl_scale const& scale, double load, bool ones) {
    placed all;
    for (std::uint64_t seed = 1; seed <= scale.placed_runs; ++seed) {
        auto const w = sizes(scale.placed_jobs, load, placed_nodes * 4, ones, seed);
        all.add(waits_under(w, placed_nodes, policies::spread()), waits_under(w, placed_nodes, policies::pack()));
    }
    return all;
}

inline void pack_against_spread(ffdl_scale const& scale, findings& found) {
    found.print(
        "\n| jobs of %zu that wait more than 15 minutes, %llu seeds | spread | pack | ratio |\n|---|---|---|---|\n",
        scale.placed_jobs, static_cast<unsigned long long>(scale.placed_runs));
    auto const row = [&](char const* what, double load, bool ones) {
        auto const all = place(scale, load, ones);
        found.print("| %s, %.0f %% load | %s | %s | %s |\n", what, 100 * load, over_seeds(all.spread).text(0).c_str(),
                    over_seeds(all.pack).text(0).c_str(), over_seeds(all.ratio).text(1).c_str());
        return all;
    };
    for (double const load : {0.85, 0.9, 0.95}) {
        auto const all = row("1, 2, 4 devices", load, false);
        double const factor = load < 0.95 ? 3 : 1.5;
        char what[100];
        std::snprintf(what, sizeof what,
                      "at %.0f %% load spreading has %.1f times the long waits of packing or more, with every seed",
                      100 * load, factor);
        found.expect(over_seeds(all.spread).least > 0 && over_seeds(all.ratio).least >= factor, what);
    }
    auto const ones = row("1 device", 1.02, true);
    found.expect(over_seeds(ones.spread).least > 0 && ones.are_equal,
                 "control: where every job wants one device, both leave the same long waits");
}

}  // namespace ffdl

[[nodiscard]] inline findings ffdl_scenario(ffdl_scale const& scale = {}) {
    findings found;
    ffdl::gang_against_one_at_a_time(scale, found);
    ffdl::pack_against_spread(scale, found);
    if (scale.philly != nullptr) ffdl::replay_philly(scale.philly, found);
    return found;
}

}  // namespace published
