// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/sim/cpu_model.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/parametric_model.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using sim::ending;
using sim::fault;
using sim::fault_kind;

namespace {

[[nodiscard]] fault crash(double at, std::uint32_t node, std::uint32_t device) {
    return {.at = seconds(at), .what = fault_kind::job_crashes, .node = node, .device = device};
}
[[nodiscard]] fault slow(double at, std::uint32_t node, double speed) {
    return {.at = seconds(at), .what = fault_kind::node_slows, .node = node, .speed = speed};
}
[[nodiscard]] fault lost(double at, std::uint32_t node) {
    return {.at = seconds(at), .what = fault_kind::node_lost, .node = node};
}
[[nodiscard]] fault back(double at, std::uint32_t node) {
    return {.at = seconds(at), .what = fault_kind::node_back, .node = node};
}

/// All jobs get a device of every node when they come.
void on_every_node(scripted::gpu_sample const& seen, grants& out) {
    auto const held = seen.get<std::int64_t>("jobs/held.gpu"), devices = seen.get<std::int64_t>("nodes/capacity.gpu");
    for (std::size_t row = 0; row < seen.jobs(); ++row)
        for (std::size_t node = 0; node < devices.size(); ++node)
            if (seen.is_active(row) && held[row] == 0) give(out, row, node, 1);
}

}  // namespace

TEST_CASE("a lost node stops what runs there, which goes on elsewhere or when the node is back", "[sim]") {
    auto const jobs = rigid({{.length = 100, .restart_cost = 5}, {.devices = 2, .length = 60, .restart_cost = 5}});
    std::vector const faults{lost(30, 0), back(50, 0)};
    auto const o = simulate(jobs, nodes_of(2, 2), first_fit, {.interval = {}, .faults = faults});
    // Job 1 is on node 0, job 2 on node 1, where it has no room left for job 1.
    CHECK(o.jobs[1].finished == seconds(65));
    CHECK(o.jobs[1].restarts == 0);
    CHECK(o.jobs[0].restarts == 1);
    CHECK(o.jobs[0].finished == seconds(50 + 5 + 75));  // 25 steps were done
    CHECK(o.capacity_seconds == 4 * 130 - 2 * 20);
    CHECK(o.jobs[0].device_seconds == 30 + 80);
}

TEST_CASE("a job that waits for a node that never comes back is starved, and the run ends", "[sim]") {
    auto const jobs = rigid({{.length = 100}});
    std::vector const faults{lost(30, 0)};
    for (double const interval : {0.0, 60.0}) {
        auto const o = simulate(jobs, nodes_of(1, 2), first_fit, {.interval = seconds(interval), .faults = faults});
        CHECK(o.how == ending::starved);
        CHECK(o.jobs[0].finished.count == -1);
        CHECK(o.jobs[0].device_seconds == 30);
    }
}

TEST_CASE("a job that crashes goes back to its last checkpoint, and pays for another start", "[sim][faults]") {
    auto const jobs = rigid({{.length = 100, .restart_cost = 5}, {.length = 60}});
    std::vector const faults{crash(33, 0, 0)};
    std::string steps;
    auto const rule = [&](scripted::gpu_sample const& seen, grants& out) {
        first_fit(seen, out);
        steps += std::to_string(seen.get<std::uint64_t>("jobs/step")[0]) + '/' +
                 std::to_string(static_cast<int>(seen.get<double>("jobs/remaining")[0])) + ' ';
    };
    auto const o = simulate(jobs, nodes_of(1, 2), rule, {.interval = {}, .faults = faults, .checkpoint = seconds(10)});
    // It makes steps from 5 s on, and saves 20 of its 28 at 25 s.
    CHECK(o.jobs[0].finished == seconds(33 + 5 + 80));
    CHECK((o.jobs[0].restarts == 1 && o.jobs[0].stops == 1 && o.jobs[0].lost_steps == 8 &&
           o.jobs[0].lost_device_seconds == 8));
    CHECK(o.jobs[0].device_seconds == 118);
    CHECK(steps.substr(0, 16) == "0/100 20/80 42/5");  // at 33 s the policy sees what is left
    CHECK((o.jobs[1].finished == seconds(60) && o.jobs[1].stops == 0 && o.jobs[1].lost_steps == 0));
    CHECK(o.faults == 1);
    auto const saved = simulate(jobs, nodes_of(1, 2), first_fit, {.interval = {}, .faults = faults});
    CHECK((saved.jobs[0].finished == seconds(33 + 5 + 72) && saved.jobs[0].lost_steps == 0 &&
           saved.jobs[0].lost_device_seconds == 0));
}

TEST_CASE("who crashes is who holds the device; nobody does when it is free", "[sim][faults]") {
    auto const jobs = rigid({{.length = 50}, {.devices = 2, .length = 50}});
    std::vector const faults{crash(10, 0, 3), crash(20, 0, 2), crash(30, 1, 0)};
    auto const o =
        simulate(jobs, nodes_of(2, 4), first_fit, {.interval = {}, .faults = faults, .checkpoint = seconds(100)});
    CHECK((o.jobs[0].stops == 0 && o.jobs[0].finished == seconds(50)));
    CHECK((o.jobs[1].stops == 1 && o.jobs[1].finished == seconds(70)));
    CHECK((o.jobs[1].lost_steps == 20 && o.jobs[1].lost_device_seconds == 40));
    CHECK(o.faults == 3);
    CHECK(o.ticks == 4);  // begin, crash, two ends: the other two crashes are no news
}

TEST_CASE("a lost node takes jobs back to their last checkpoint too", "[sim][faults]") {
    std::vector const faults{lost(27, 1), back(40, 1)};
    auto const o = simulate(rigid({{.devices = 2, .length = 50}}), nodes_of(2, 1), on_every_node,
                            {.interval = {}, .faults = faults, .checkpoint = seconds(10)});
    CHECK(o.jobs[0].finished == seconds(40 + 30));
    CHECK((o.jobs[0].lost_steps == 7 && o.jobs[0].lost_device_seconds == 14));
    CHECK(o.capacity_seconds == 2 * 70 - 13);
}

TEST_CASE("a node that was lost twice comes back with the second return", "[sim][faults]") {
    std::vector const faults{lost(10, 0), lost(20, 0), back(30, 0), back(50, 0)};
    auto const o = simulate(rigid({{.length = 30}}), nodes_of(1, 1), first_fit, {.interval = {}, .faults = faults});
    CHECK(o.jobs[0].finished == seconds(50 + 20));
    CHECK(o.jobs[0].stops == 1);
    CHECK(o.capacity_seconds == 30);
    CHECK(o.ticks == 4);  // begin, the first loss, the second return, end
}

TEST_CASE("a job goes at the pace of its slowest node, and loses nothing by it", "[sim][faults]") {
    std::vector const faults{slow(20, 1, 0.25), slow(60, 1, 1)};
    auto const both = simulate(rigid({{.devices = 2, .length = 100}}), nodes_of(2, 1), on_every_node,
                               {.interval = {}, .faults = faults, .checkpoint = seconds(60)});
    CHECK(both.jobs[0].finished == seconds(60 + 70));  // 20 steps, 10 in 40 s, and the rest
    CHECK((both.jobs[0].stops == 0 && both.jobs[0].restarts == 0 && both.jobs[0].lost_steps == 0 && both.faults == 1));
    auto const other =
        simulate(rigid({{.length = 100}}), nodes_of(2, 1), first_fit, {.interval = {}, .faults = faults});
    CHECK(other.jobs[0].finished == seconds(100));  // on the first node
}

TEST_CASE("workers that do not wait for each other lose only what the slow one does less", "[sim][faults]") {
    sim::workload w;
    w.models.push_back(std::make_shared<sim::parameter_server_model>(std::vector{1.0}, 3.5));
    w.jobs.push_back({.request = 4, .least = 4, .most = 4, .length = 330});
    std::vector const faults{slow(50, 0, 0.5), slow(90, 0, 1)};
    auto const o = simulate(w, nodes_of(2, 2),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                if (seen.tick.number == 0) {
                                    give(out, 0, 0, 2);
                                    give(out, 0, 1, 2);
                                }
                            },
                            {.interval = {}, .faults = faults});
    CHECK(o.jobs[0].finished == seconds(100));  // 175 steps at 3.5 a second, 120 at 3, 35 at 3.5
}

namespace {

/// A job of 4 workers, one on each node, that makes a step a second with each and accepts `least` of them.
[[nodiscard]] sim::workload four_workers(std::int64_t least, std::shared_ptr<sim::job_model const> model) {
    sim::workload w;
    w.models.push_back(std::move(model));
    w.jobs.push_back({.request = 4, .least = least, .most = 4, .length = 400, .restart_cost = 30});
    return w;
}

}  // namespace

TEST_CASE("an asynchronous job continues with the workers that a lost node leaves it", "[sim][faults]") {
    auto const asynchronous = std::make_shared<sim::parameter_server_model>(std::vector{1.0}, 100.0);
    std::vector const faults{lost(50, 2)};
    auto const run = [&](sim::workload const& w) {
        return simulate(w, nodes_of(4, 1), on_every_node,
                        {.interval = {}, .faults = faults, .checkpoint = seconds(1000)});
    };
    auto const o = run(four_workers(1, asynchronous));
    // 80 steps from 30 to 50 s, then three workers
    CHECK(to_seconds(o.jobs[0].finished) == Catch::Approx(50 + (400 - 4 * 20) / 3.0).margin(1e-6));
    CHECK((o.jobs[0].stops == 0 && o.jobs[0].restarts == 0 && o.jobs[0].lost_steps == 0 && o.faults == 1));
    CHECK(o.jobs[0].device_seconds == Catch::Approx(4 * 50 + 3 * (320 / 3.0)));
    auto const few = run(four_workers(4, asynchronous));  // three are fewer than it accepts
    CHECK((few.how == ending::starved && few.jobs[0].stops == 1 && few.jobs[0].lost_steps == 80));
    sim::data_parallel const equal{.sample_seconds = 1, .least_batch = 4, .most_batch = 4, .most_local_batch = 4};
    auto const together = run(four_workers(1, std::make_shared<sim::parametric_model>(equal)));
    CHECK((together.jobs[0].stops == 1 && together.jobs[0].lost_steps > 0));  // control: synchronous workers all stop
}

TEST_CASE("a crash takes one worker from an asynchronous job, and a policy may give it another", "[sim][faults]") {
    auto const asynchronous = std::make_shared<sim::parameter_server_model>(std::vector{1.0}, 100.0);
    std::vector const faults{crash(50, 1, 0)};
    std::vector<std::int64_t> held;
    auto const rule = [&](scripted::gpu_sample const& seen, grants& out) {
        auto const has = seen.get<std::int64_t>("jobs/held.gpu")[0];
        if (seen.tick.number > 0) held.push_back(has);
        if (seen.tick.number == 0) {
            give(out, 0, 0, 2);
            give(out, 0, 1, 2);
        }
        if (has == 3) give(out, 0, 1, 2);
    };
    auto const o = simulate(four_workers(1, asynchronous), nodes_of(2, 2), rule, {.interval = {}, .faults = faults});
    REQUIRE(held.size() == 2);
    CHECK(held[0] == 3);  // it is asked at once
    CHECK((o.jobs[0].stops == 0 && o.jobs[0].restarts == 1));
    CHECK(o.jobs[0].finished == seconds(50 + 30 + 320 / 4));
    CHECK(o.rejected == 0);
}

TEST_CASE("a job makes no steps while it saves, and only a save that has ended counts", "[sim][faults]") {
    auto const run = [](std::vector<fault> const& faults) {
        return simulate(rigid({{.length = 100, .restart_cost = 5}}), nodes_of(1, 1), first_fit,
                        {.interval = {}, .faults = faults, .checkpoint = seconds(20), .save = seconds(3)})
            .jobs[0];
    };
    CHECK(run({}).finished == seconds(5 + 100 + 4 * 3));  // it saves at 20, 40, 60 and 80 steps, and ends at 100
    auto const working = run({crash(33, 0, 0)}), saving = run({crash(27, 0, 0)}), saved = run({crash(28, 0, 0)});
    CHECK(
        (working.lost_steps == 5 && working.lost_device_seconds == 5 && working.finished == seconds(33 + 5 + 80 + 9)));
    CHECK(
        (saving.lost_steps == 20 && saving.lost_device_seconds == 22 && saving.finished == seconds(27 + 5 + 100 + 12)));
    CHECK((saved.lost_steps == 0 && saved.finished == seconds(28 + 5 + 80 + 9)));
    // During the first save; then 10 steps in 20 s, the next save, and the rest
    auto const slowed = run({slow(26, 0, 0.5), slow(48, 0, 1)});
    CHECK(slowed.finished == seconds(51 + 70 + 3 * 3));
}

TEST_CASE("what is saved stays saved when the pace changes, and whoever is stopped by a policy saves all",
          "[sim][faults]") {
    auto const lost_at = [](double at) {
        std::vector const faults{slow(12, 0, 0.5), crash(at, 0, 0)};
        return simulate(rigid({{.length = 100}}), nodes_of(1, 1), first_fit,
                        {.interval = {}, .faults = faults, .checkpoint = seconds(10)})
            .jobs[0]
            .lost_steps;
    };
    CHECK(lost_at(19) == 12 + 3.5 - 10);
    CHECK(lost_at(20) == 0);
    CHECK(lost_at(25) == 2.5);
    auto const stopped = [](double at, double restart_cost) {
        std::vector const faults{crash(at, 0, 0)};
        return simulate(rigid({{.length = 100, .restart_cost = restart_cost}, {.submitted = 40, .length = 20}}),
                        nodes_of(1, 1),
                        [](scripted::gpu_sample const& seen, grants& out) {
                            auto const held = seen.get<std::int64_t>("jobs/held.gpu");
                            bool const second = seen.jobs() > 1 && seen.is_active(1);
                            if (second && held[0] > 0) give(out, 0, 0, 0);
                            if (second && held[1] == 0) give(out, 1, 0, 1);
                            if (!second && seen.is_active(0) && held[0] == 0) give(out, 0, 0, 1);
                        },
                        {.interval = {}, .faults = faults, .checkpoint = seconds(1000)})
            .jobs[0];
    };
    // 40 steps by 40 s, 10 from 60 s on
    CHECK((stopped(70, 0).lost_steps == 10 && stopped(70, 0).finished == seconds(70 + 60)));
    // 30 steps by 40 s, and its second start is cut short
    CHECK((stopped(64, 10).lost_steps == 0 && stopped(64, 10).finished == seconds(64 + 10 + 70)));
}

TEST_CASE("a job that is struck while it starts has nothing to lose but the start", "[sim][faults]") {
    std::vector const faults{crash(6, 0, 0)};
    auto const o = simulate(rigid({{.length = 100, .restart_cost = 10}}), nodes_of(1, 1), first_fit,
                            {.interval = {}, .faults = faults, .checkpoint = seconds(10)});
    CHECK((o.jobs[0].lost_steps == 0 && o.jobs[0].lost_device_seconds == 0 &&
           o.jobs[0].finished == seconds(6 + 10 + 100)));
}

// 100 steps a second; the tier of the loss is at 1000 steps.
TEST_CASE("jobs on processors wait for their node, and reach a tier once", "[sim][faults][cpu]") {
    sim::workload w;
    w.models.push_back(std::make_shared<sim::cpu_model>(sim::loss_curve{.power = 1, .power_steps = 1000}, 100, 1, 0,
                                                        std::vector{0.5}));
    w.jobs.push_back({.request = 0, .least = 0, .most = 0, .length = 3000});
    sim::cluster box;
    box.groups.push_back({.nodes = 1, .devices = 0, .cores = 1});
    std::vector const faults{lost(12, 0), back(20, 0), slow(30, 0, 0.5)};
    auto const o =
        simulate(w, box, [](auto const&, grants&) {}, {.interval = {}, .faults = faults, .checkpoint = seconds(8)});
    CHECK(o.jobs[0].acceptable == seconds(10));
    CHECK((o.jobs[0].stops == 1 && o.jobs[0].lost_steps == 400));
    CHECK(o.jobs[0].finished == seconds(30 + 24));  // 800 steps saved, 1800 by 30 s, then 50 a second
}

namespace {

/// Sees what a policy sees before it does.
class leak_check final : public any_policy {
    any_policy& policy_;
    std::vector<column_info> schema_;

public:
    std::size_t on_lost_nodes = 0, seen = 0;
    explicit leak_check(any_policy& policy) : policy_(policy) {}
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] bool reads(std::string_view name) const noexcept override { return policy_.reads(name); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        schema_.assign(schema.begin(), schema.end());
        return policy_.bind(schema, most);
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        scripted::gpu_sample const view{t, schema_};
        auto const node = view.get<std::uint32_t>("held/node"), what = view.get<std::uint32_t>("held/resource");
        auto const there = view.get<std::int64_t>("nodes/capacity.gpu");
        for (std::size_t row = 0; row < node.size(); ++row)
            if (what[row] == static_cast<std::uint32_t>(resource_id::gpu)) {
                ++seen;
                on_lost_nodes += there[node[row]] == 0;
            }
        return policy_.decide(t, out);
    }
};

template <class P>
[[nodiscard]] sim::run_outcome through(sim::workload const& jobs, std::span<fault const> faults,
                                       nanoseconds checkpoint) {
    policy_adapter<P> policy;
    policy_adapter<policies::fifo> fallback;
    leak_check watched(policy);
    auto const machines = nodes_of(8, 4);
    auto ran = sim::simulation(jobs, machines, watched, fallback,
                               {.interval = seconds(60), .faults = faults, .checkpoint = checkpoint})
                   .run();
    RATION_ASSERT(ran, "a test's premise does not hold");
    CHECK(watched.seen > 0);
    CHECK(watched.on_lost_nodes == 0);
    return std::move(ran).value();
}

}  // namespace

TEST_CASE(
    "through all kinds of faults every job ends, none loses more than a checkpoint each time, and the same seed gives the same",
    "[sim][faults]") {
    sim::fault_rates const rates{.loss_every = 20'000,
                                 .repair = 1800,
                                 .lifetime = sim::transient_servers[3],
                                 .crash_every = 100'000,
                                 .slow_every = 10'000};
    nanoseconds const checkpoint = seconds(600);
    std::uint64_t stops = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        auto const faults = sim::make_faults(rates, nodes_of(8, 4), seed, seconds(5 * 86400));
        auto const check = [&](sim::run_outcome const& o) {
            CHECK(o.how == ending::all_done);
            CHECK(o.rejected == 0);
            for (auto const& job : o.jobs) {
                stops += job.stops;
                CHECK(job.lost_device_seconds <= job.stops * 600.0 * 32);
                CHECK(job.lost_device_seconds <= job.device_seconds);
                CHECK((job.stops > 0 || job.lost_steps == 0));
                CHECK(job.lost_steps >= 0);
            }
        };
        auto const rigid_jobs = sim::make_rigid({.seed = seed, .jobs = 150, .jobs_per_hour = 10}, {.most_devices = 32});
        auto const elastic = sim::make_scaling({.seed = seed, .jobs = 60, .jobs_per_hour = 10}, {.most_devices = 16});
        check(through<policies::fifo>(rigid_jobs, faults, checkpoint));
        check(through<policies::las>(rigid_jobs, faults, checkpoint));
        auto const once = through<policies::pollux>(elastic, faults, checkpoint),
                   again = through<policies::pollux>(elastic, faults, checkpoint);
        check(once);
        bool same = once.ticks == again.ticks && once.end == again.end && once.faults == again.faults;
        for (std::size_t i = 0; i < once.jobs.size(); ++i)
            same = same && once.jobs[i].finished == again.jobs[i].finished &&
                   once.jobs[i].lost_steps == again.jobs[i].lost_steps;
        CHECK(same);
    }
    CHECK(stops > 100);
}

// M e^(R / M) (e^((t + d) / M) - 1) for each stretch of t between two checkpoints that take d, with a mean time M
// between crashes and a start of R, during which it may crash too: J. T. Daly, "A higher order estimate of the optimum
// checkpoint interval for restart dumps", FGCS 2006. The last stretch saves nothing.
TEST_CASE("a job under crashes takes as long as Daly's formula says, with saves of any length", "[sim][faults]") {
    constexpr double between = 1000, start = 50, segment = 500, length = 5000;
    double const save = GENERATE(0.0, 100.0);
    std::vector<rigid_job> const sixteen(16, {.length = length, .restart_cost = start});
    auto const jobs = rigid(sixteen);
    double sum = 0, squares = 0, number = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto const faults = sim::make_faults({.crash_every = between}, nodes_of(16, 1), seed, seconds(100'000));
        auto const o =
            simulate(jobs, nodes_of(16, 1), first_fit,
                     {.interval = {}, .faults = faults, .checkpoint = seconds(segment), .save = seconds(save)});
        for (auto const& job : o.jobs) {
            double const took = to_seconds(job.finished);
            sum += took;
            squares += took * took;
            number += 1;
        }
    }
    double const mean = sum / number, error = std::sqrt((squares / number - mean * mean) / number);
    auto const until_saved = [&](double takes) {
        return between * std::exp(start / between) * std::expm1((segment + takes) / between);
    };
    double const expected =
        between * std::expm1(start / between) + (length / segment - 1) * until_saved(save) + until_saved(0);
    CHECK(error < 0.02 * expected);
    CHECK(mean == Catch::Approx(expected).margin(5 * error));
}
