// SPDX-License-Identifier: BSL-1.0
// Jobs whose use of CPU and memory changes from phase to phase, and limits of both.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/none.hpp>
#include <ration/policies/phase_limits.hpp>
#include <ration/sim/bounds.hpp>
#include <ration/sim/phase_generator.hpp>
#include <ration/sim/summary.hpp>
#include <ration/sim/trace/read.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using Catch::Approx;
using sim::usage_phase;

namespace {

constexpr double gigabyte = 1e9;

/// Jobs that are submitted together, each with its phases. A restart takes 10 s.
[[nodiscard]] sim::workload phased(std::vector<std::vector<usage_phase>> const& all) {
    sim::workload w;
    for (auto const& phases : all) {
        auto model = std::make_shared<sim::phase_model const>(phases, 7 + w.models.size());
        w.jobs.push_back({.model = static_cast<std::uint32_t>(w.models.size()),
                          .request = 0,
                          .least = 0,
                          .most = 0,
                          .length = model->length(),
                          .restart_cost = 10});
        w.models.push_back(std::move(model));
        w.model_names.emplace_back("phases");
    }
    w.tenants.emplace_back("default");
    return w;
}

[[nodiscard]] sim::cluster node_with(double cores) {
    sim::cluster c;
    c.groups.push_back({.nodes = 1, .devices = 0, .cores = cores});
    return c;
}

/// Each job has these limits from the first tick on; `unlimited` = none.
[[nodiscard]] scripted::rule limits_at_first(std::int64_t millicores, std::int64_t bytes) {
    return [=](scripted::gpu_sample const& seen, grants& out) {
        if (seen.tick.now.count > 0) return;
        for (std::size_t row = 0; row < seen.jobs(); ++row) {
            static_cast<void>(out.set(row, 0, resource_id::cpu, millicores));
            static_cast<void>(out.set(row, 0, resource_id::memory, bytes));
        }
    };
}

std::vector<usage_phase> const busy_then_quiet{{.seconds = 100, .cores = 2, .bytes = gigabyte},
                                               {.seconds = 100, .cores = 1, .bytes = gigabyte}};
std::vector<usage_phase> const small_then_large{{.seconds = 100, .cores = 1, .bytes = gigabyte},
                                                {.seconds = 100, .cores = 1, .bytes = 2 * gigabyte}};

}  // namespace

TEST_CASE("phases: a job is slower below the cores of its phase, and only there", "[sim][phases]") {
    auto const jobs = phased({busy_then_quiet});
    // 100 s on half of the cores take 200 s
    CHECK(simulate(jobs, node_with(4), limits_at_first(1000, unlimited)).jobs[0].finished == seconds(300));
    CHECK(simulate(jobs, node_with(4), limits_at_first(500, unlimited)).jobs[0].finished == seconds(600));
    CHECK(simulate(jobs, node_with(4), limits_at_first(1500, unlimited)).jobs[0].finished ==
          seconds(100 * 2 / 1.5 + 100));
    // Without a limit, on a node that is too small
    CHECK(simulate(jobs, node_with(1), limits_at_first(unlimited, unlimited)).jobs[0].finished == seconds(300));
}

TEST_CASE("phases: with enough cores and bytes limits have no effect", "[sim][phases]") {
    auto const jobs = phased({busy_then_quiet, small_then_large});
    auto const limited = simulate(jobs, node_with(4), limits_at_first(2000, 2'000'000'000)),
               none = simulate(jobs, node_with(4), [](auto const&, grants&) {});
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(limited.jobs[i].finished == seconds(200));
        CHECK(none.jobs[i].finished == seconds(200));
        CHECK((limited.jobs[i].kills == 0 && limited.jobs[i].stops == 0));
    }
}

TEST_CASE("phases: below the bytes of its phase a job is killed, and starts again from its save", "[sim][phases]") {
    auto const jobs = phased({small_then_large});
    auto const killed = simulate(jobs, node_with(1), limits_at_first(unlimited, 1'999'999'999)).jobs[0];
    CHECK((killed.kills == 1 && killed.stops == 0 && killed.lost_steps == 0));
    CHECK(killed.finished == seconds(210));  // 10 s of restart; a kill ends the limit
    // The last save is at 60 s, so that 40 s are repeated
    auto const saving = simulate(jobs, node_with(1), limits_at_first(unlimited, 1'999'999'999),
                                 {.interval = {}, .checkpoint = seconds(60)})
                            .jobs[0];
    CHECK((saving.kills == 1 && saving.lost_steps == Approx(40)));
    CHECK(saving.finished == seconds(250));
    CHECK(simulate(jobs, node_with(1), limits_at_first(unlimited, 2'000'000'000)).jobs[0].finished == seconds(200));
}

TEST_CASE("phases: a job that its limit kills again and again ends the run", "[sim][phases]") {
    auto const stubborn = [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.is_active(0)) static_cast<void>(out.set(0, 0, resource_id::memory, 1'500'000'000));
    };
    auto const o = simulate(phased({small_then_large}), node_with(1), stubborn,
                            {.interval = seconds(10), .checkpoint = seconds(60)});
    CHECK(o.how == sim::ending::out_of_memory);
    CHECK((o.jobs[0].kills == 1001 && o.jobs[0].finished.count < 0));
    // 100 s to the first kill; then 10 s of restart and 40 s of work to each of the others
    CHECK(o.end == seconds(100 + 1000 * 50));
}

TEST_CASE("phases: after a fault a job restarts when it has cores again, and then uses them", "[sim][phases][faults]") {
    std::vector<sim::fault> const faults{{.at = seconds(50), .what = sim::fault_kind::node_lost, .node = 0},
                                         {.at = seconds(70), .what = sim::fault_kind::node_back, .node = 0}};
    auto const job =
        simulate(phased({{{.seconds = 100, .cores = 2, .bytes = gigabyte}}}), node_with(4), [](auto const&, grants&) {},
                 {.interval = {}, .faults = faults, .checkpoint = seconds(40)})
            .jobs[0];
    CHECK((job.stops == 1 && job.kills == 0 && job.lost_steps == Approx(10)));
    CHECK(job.finished == seconds(70 + 10 + 60));
    CHECK(job.use.cpu.sum.used == Approx(2.0 * (50 + 10 + 60)));
    CHECK(job.use.memory.sum.used == Approx(gigabyte * (50 + 10 + 60)));
}

TEST_CASE("phases: a killed job restarts when its policy gives it cores, not before", "[sim][phases]") {
    sim::cluster two;
    two.groups.push_back({.nodes = 2, .devices = 0, .cores = 2});
    auto const o =
        simulate(phased({small_then_large}), two,
                 [](scripted::gpu_sample const& seen, grants& out) {
                     auto const at = to_seconds(seen.tick.now);
                     if (at != 0 && at != 150) return;
                     static_cast<void>(out.set(0, 0, resource_id::cpu, 1000));
                     static_cast<void>(out.set(0, 0, resource_id::memory, at == 0 ? 1'500'000'000 : 2'500'000'000));
                 },
                 {.interval = seconds(50)});
    CHECK(o.jobs[0].kills == 1);
    CHECK(o.jobs[0].finished == seconds(150 + 10 + 100));
}

TEST_CASE("phases: the seconds with noise of a trace have a limit", "[sim][phases][trace]") {
    std::string rows = "job_id,submit_time,num_gpus,phases\n";
    for (int i = 0; i < 40; ++i) rows += "a,0,,2500000:1:1:0.1 92000:1:1\n";
    REQUIRE(sim::trace::read(rows, {}, "t"));
    auto const refused = sim::trace::read(rows + "b,0,,2592000:1:1\nb,0,,1:1:1:0.1\n", {}, "t");
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().line == 43);
    CHECK(refused.failure().text ==
          "phases is '1:1:1:0.1'; write no noise, or shorter phases: a trace has at most 100000000 seconds with noise");
}

TEST_CASE("phases: jobs share the cores of a node by their demand in each phase", "[sim][phases]") {
    // 3 cores: both get 1.5 of the 2 that they want; the quiet one leaves its share to the other one from 100 s on.
    auto const o = simulate(phased({{{.seconds = 75, .cores = 2, .bytes = 1}, {.seconds = 50, .cores = 1, .bytes = 1}},
                                    {{.seconds = 125, .cores = 2, .bytes = 1}}}),
                            node_with(3), [](auto const&, grants&) {});
    CHECK(o.jobs[0].finished == seconds(150));
    CHECK(o.jobs[1].finished == seconds(150));
}

TEST_CASE("phases: policies read what jobs use, and what holds them back", "[sim][phases]") {
    struct seen_at {
        double cpu, memory, throttled, expected_cpu, expected_memory;
        std::uint32_t phase, kind;
        bool operator==(seen_at const&) const = default;
    };
    std::vector<seen_at> all;
    auto const limited = limits_at_first(1000, unlimited);
    std::vector<usage_phase> const phases{{.seconds = 100, .cores = 2, .bytes = gigabyte},
                                          {.seconds = 100, .cores = 0.5, .bytes = 3 * gigabyte}};
    static_cast<void>(simulate(phased({phases}), node_with(4),
                               [&](scripted::gpu_sample const& seen, grants& out) {
                                   limited(seen, out);
                                   if (!seen.is_active(0)) return;
                                   auto const of = [&](char const* name) { return seen.get<double>(name)[0]; };
                                   all.push_back({of("jobs/used.cpu"), of("jobs/used.memory"), of("jobs/throttled.cpu"),
                                                  of("jobs/expected.cpu"), of("jobs/expected.memory"),
                                                  seen.get<std::uint32_t>("jobs/phase")[0],
                                                  seen.get<std::uint32_t>("jobs/class")[0]});
                               },
                               {.interval = seconds(75)}));
    // The first phase takes 200 s. A minute of work before its end, the second one is expected.
    std::vector<seen_at> const expected{{2000, 1e9, 0, 2000, 1e9, 0, 0},
                                        {1000, 1e9, .5, 2000, 1e9, 0, 0},
                                        {1000, 1e9, .5, 2000, 3e9, 0, 0},
                                        {500, 3e9, 0, 500, 3e9, 1, 0}};
    REQUIRE(all.size() >= 4);
    CHECK(std::equal(expected.begin(), expected.end(), all.begin()));
}

TEST_CASE("phases: a share of the node is not a limit", "[sim][phases]") {
    double most = 0;
    static_cast<void>(simulate(phased({busy_then_quiet, busy_then_quiet}), node_with(2),
                               [&](scripted::gpu_sample const& seen, grants&) {
                                   for (double const part : seen.get<double>("jobs/throttled.cpu"))
                                       most = std::max(most, part);
                               },
                               {.interval = seconds(10)}));
    CHECK(most == 0);
}

TEST_CASE("phases: figures of what limits reserve", "[sim][phases]") {
    auto const reserved = [](scripted::rule const& rule, std::vector<usage_phase> const& phases) {
        auto const jobs = phased({phases});
        return figures_of(jobs, node_with(4), needs_of(jobs, node_with(4)), simulate(jobs, node_with(4), rule));
    };
    auto const none = reserved([](auto const&, grants&) {}, busy_then_quiet);
    CHECK(none.reserved_cpu == Approx(2.0 * 200 / (2 * 100 + 1 * 100)));  // its largest demand, all the time
    CHECK(none.reserved_memory == 1);
    auto const wide = reserved(limits_at_first(3000, 4'000'000'000), small_then_large);
    CHECK(wide.reserved_cpu == Approx(3));
    CHECK(wide.reserved_memory == Approx(4.0 * 200 / (1 * 100 + 2 * 100)));
    auto const tight = reserved(limits_at_first(1000, unlimited), busy_then_quiet);
    CHECK(tight.reserved_cpu == 1);
    // Killed at 100 s; then it restarts for 10 s without a limit, and uses as much as its next step
    auto const killed = reserved(limits_at_first(unlimited, 1'500'000'000), small_then_large);
    CHECK(killed.kills == 1);
    CHECK(killed.reserved_memory == Approx((1.5 * 100 + 2.0 * 110) / (1 * 100 + 2 * 110)));
    CHECK(std::isnan(sim::figures{}.reserved_cpu));
}

TEST_CASE("phases: noise changes the demand every 20 s, and is the same in each run", "[sim][phases]") {
    sim::phase_model const model({{.seconds = 2000, .cores = 2, .bytes = gigabyte, .noise = 0.1}}, 3),
        same({{.seconds = 2000, .cores = 2, .bytes = gigabyte, .noise = 0.1}}, 3),
        other({{.seconds = 2000, .cores = 2, .bytes = gigabyte, .noise = 0.1}}, 4);
    sim::job_description const job{};
    double cores = 0, cores_squared = 0, bytes_squared = 0;
    for (int i = 0; i < 100; ++i) {
        auto const first = model.demand(job, 20 * i), last = model.demand(job, 20 * i + 19.999);
        CHECK((first.cores == last.cores && first.bytes == last.bytes));
        CHECK(first.cores == same.demand(job, 20 * i).cores);
        CHECK(first.cores != other.demand(job, 20 * i).cores);
        cores += first.cores / 100;
        cores_squared += (first.cores - 2) * (first.cores - 2) / 100;
        bytes_squared += (first.bytes / gigabyte - 1) * (first.bytes / gigabyte - 1) / 100;
        CHECK(model.at(job, {.cores = first.cores}, 20 * i).steps_per_second == 1);
        CHECK(model.at(job, {.cores = first.cores / 2}, 20 * i).steps_per_second == Approx(0.5));
        CHECK(model.at(job, {.cores = 1}, 20 * i + 5).until == 20 * (i + 1));
    }
    CHECK(cores == Approx(2).epsilon(0.03));
    CHECK(std::sqrt(cores_squared) == Approx(0.2).epsilon(0.2));
    CHECK(std::sqrt(bytes_squared) == Approx(0.02).epsilon(0.2));
}

TEST_CASE("phases: the same seed gives the same run, and no run beats the bound", "[sim][phases]") {
    auto const jobs = sim::make_phased({.seed = 5, .jobs = 12, .jobs_per_hour = 30}),
               again = sim::make_phased({.seed = 5, .jobs = 12, .jobs_per_hour = 30});
    auto const needs = needs_of(jobs, node_with(6));
    auto const bounds = bounds_of(jobs, needs, node_with(6));
    auto const run = [](sim::workload const& w, double cores) {
        return simulate(w, node_with(cores), limits_at_first(1500, unlimited), {.interval = seconds(60)});
    };
    auto const first = run(jobs, 6), second = run(again, 6);
    for (std::size_t i = 0; i < first.jobs.size(); ++i) {
        CHECK(first.jobs[i].finished == second.jobs[i].finished);
        CHECK(first.jobs[i].use.cpu.sum.used == second.jobs[i].use.cpu.sum.used);
        CHECK(to_seconds(first.jobs[i].finished - first.jobs[i].submitted) >= needs[i].seconds * (1 - 1e-9));
    }
    auto const f = figures_of(jobs, node_with(6), needs, first);
    CHECK(f.mean_jct >= bounds.mean_jct * (1 - 1e-9));
    CHECK(f.makespan >= bounds.makespan * (1 - 1e-9));
    // Alone on a large node each job takes the seconds of its phases
    auto const alone = needs_of(jobs, node_with(64));
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(alone[i].seconds == Approx(jobs.jobs[i].length));
}

TEST_CASE("phases: phase_limits reserves less than the largest demands, and hardly slows jobs down", "[sim][phases]") {
    auto const jobs = sim::make_phased({.seed = 1, .jobs = 20, .jobs_per_hour = 20});
    auto const machines = node_with(96);
    auto const under = [&](auto rule) {
        policy_adapter policy(std::move(rule));
        policy_adapter<policies::none> fallback;
        sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(20)});
        auto const outcome = run.run();
        REQUIRE(outcome);
        CHECK(outcome->rejected == 0);
        return figures_of(jobs, machines, needs_of(jobs, machines), *outcome);
    };
    auto const none = under(policies::none{}), limited = under(policies::phase_limits({.limit_memory = true}));
    CHECK(limited.finished == 20);
    CHECK(limited.reserved_cpu < 0.95 * none.reserved_cpu);
    CHECK(limited.reserved_memory < 0.95 * none.reserved_memory);
    CHECK(limited.mean_jct < 1.02 * none.mean_jct);
}

TEST_CASE("prices: the cost is that of the device-hours that jobs hold, by the type of their nodes", "[sim][prices]") {
    auto const jobs = rigid({{0, 4, 3600}, {0, 2, 7200}, {3600, 1, 1800}});
    sim::cluster machines;
    machines.groups = {{.nodes = 1, .devices = 4, .type = 0}, {.nodes = 1, .devices = 2, .type = 1}};
    machines.types = {"a", "b"};
    std::vector<double> const prices{2.5, 0.75};
    auto const cost = [&](sim::sim_options options) { return simulate(jobs, machines, first_fit, options).cost; };
    // 4 devices of type a for an hour, 2 of type b for two, 1 of type a for half an hour
    CHECK(cost({.interval = {}, .prices = prices}) == Approx(4 * 2.5 + 2 * 2 * 0.75 + 0.5 * 2.5));
    CHECK(cost({.interval = seconds(7), .prices = prices}) == Approx(4 * 2.5 + 2 * 2 * 0.75 + 0.5 * 2.5));
    CHECK(std::isnan(cost({.interval = {}})));
    // Up to the time limit only
    CHECK(cost({.interval = seconds(60), .limit = seconds(1800), .prices = prices}) ==
          Approx(0.5 * (4 * 2.5 + 2 * 0.75)));
    // A lost node costs nothing until it is back; its job repeats all of its work
    std::vector<sim::fault> const faults{{.at = seconds(1800), .what = sim::fault_kind::node_lost, .node = 1},
                                         {.at = seconds(5400), .what = sim::fault_kind::node_back, .node = 1}};
    auto const lost = simulate(jobs, machines, first_fit,
                               {.interval = {}, .faults = faults, .checkpoint = seconds(86400), .prices = prices});
    CHECK(lost.jobs[1].stops == 1);
    // From 3600 s on the job waits for two devices, and gets those of type a beside the third job
    CHECK(lost.jobs[1].finished == seconds(3600 + 7200));
    CHECK(lost.cost == Approx(4 * 2.5 + 0.5 * 2 * 0.75 + 2 * 2 * 2.5 + 0.5 * 2.5));
}
