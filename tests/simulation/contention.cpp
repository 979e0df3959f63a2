// SPDX-License-Identifier: BSL-1.0
// Jobs on several nodes that slow each other down where they meet.
#include <utility>
#include <vector>

#include <ration/sim/profile_model.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using sim::fault;

namespace {

/// A job of one step a second wherever it is, but for what it loses where it meets another. Four samples, on 1, 2 or 4
/// devices.
[[nodiscard]] std::shared_ptr<sim::job_model const> trainer(double interference) {
    sim::profile p;
    p.initial_batch = p.max_batch = p.max_local_batch = 4;
    p.fixed_batch = true;
    p.interference = interference;
    p.by_count[{1, 1}] = {.batch = {1, 4}, .step = {1, 1}, .sync = {0, 0}};
    p.ends = {1e9};
    p.batches = {4};
    p.square = {1};
    p.variance = {0};
    return std::make_shared<sim::profile_model>(std::move(p), std::span<std::int64_t const>());
}

struct placed_job {
    double submitted = 0, length = 0;
    std::vector<std::uint32_t> nodes;  // one device on each; a node may be named twice
    double restart_cost = 0;
};

/// Every job runs on its `nodes`, as soon as all of them are there.
[[nodiscard]] sim::run_outcome run(std::vector<placed_job> const& jobs, std::size_t nodes, double interference,
                                   std::vector<fault> const& lost = {}) {
    sim::workload w;
    w.models.push_back(trainer(interference));
    for (auto const& j : jobs) {
        auto const devices = static_cast<std::int64_t>(j.nodes.size());
        w.jobs.push_back({.submitted = seconds(j.submitted),
                          .request = devices,
                          .least = devices,
                          .most = devices,
                          .length = j.length,
                          .restart_cost = j.restart_cost});
    }
    return simulate(w, nodes_of(nodes, 4),
                    [&](scripted::gpu_sample const& seen, grants& out) {
                        auto const id = seen.get<std::uint64_t>("jobs/id");
                        auto const held = seen.get<std::int64_t>("jobs/held.gpu"),
                                   there = seen.get<std::int64_t>("nodes/capacity.gpu");
                        for (std::size_t row = 0; row < seen.jobs(); ++row) {
                            std::vector<std::int64_t> wanted(nodes);
                            bool room = seen.is_active(row) && held[row] == 0;
                            for (auto const node : jobs[id[row] - 1].nodes) {
                                ++wanted[node];
                                room = room && there[node] > 0;
                            }
                            for (std::size_t node = 0; node < nodes && room; ++node)
                                if (wanted[node] > 0) give(out, row, node, wanted[node]);
                        }
                    },
                    {.interval = {}, .faults = lost});
}

}  // namespace

TEST_CASE("two jobs that meet on their nodes are slowed, until one is done", "[sim][contention]") {
    auto const o = run({{0, 100, {0, 1}}, {0, 60, {0, 1}}}, 2, 0.5);
    CHECK(o.jobs[1].finished == seconds(120));
    CHECK(o.jobs[0].finished == seconds(120 + 40));  // 60 steps were done by then
}

TEST_CASE("a job that comes slows the one that is there from that instant on, and frees it when it ends",
          "[sim][contention]") {
    auto const o = run({{0, 100, {0, 1}}, {40, 30, {1, 2}}}, 3, 0.5);
    CHECK(o.jobs[1].finished == seconds(40 + 60));
    CHECK(o.jobs[0].finished == seconds(100 + 30));  // 40 steps alone, 30 beside the other
}

TEST_CASE("only jobs on several nodes meet, and only on a node that they share", "[sim][contention]") {
    auto const apart = run({{0, 100, {0, 1}}, {0, 100, {2, 3}}}, 4, 0.5);
    CHECK((apart.jobs[0].finished == seconds(100) && apart.jobs[1].finished == seconds(100)));
    auto const whole = run({{0, 100, {0, 1}}, {0, 100, {1, 1}}, {0, 100, {0}}}, 2, 0.5);
    for (auto const& job : whole.jobs) CHECK(job.finished == seconds(100));
}

TEST_CASE("jobs in a chain: the middle one frees both its neighbours", "[sim][contention]") {
    auto const o = run({{0, 100, {0, 1}}, {0, 20, {1, 2}}, {0, 100, {2, 3}}}, 4, 0.75);
    CHECK(o.jobs[1].finished == seconds(80));
    CHECK(o.jobs[0].finished == seconds(80 + 80));
    CHECK(o.jobs[2].finished == seconds(80 + 80));
}

TEST_CASE("three on one node are slowed no more than two are", "[sim][contention]") {
    auto const o = run({{0, 40, {0, 1}}, {0, 40, {0, 2}}, {0, 40, {0, 3}}}, 4, 0.5);
    for (auto const& job : o.jobs) CHECK(job.finished == seconds(80));
}

TEST_CASE("a lost node frees those that met the job it stopped; when the job is back they are slowed again",
          "[sim][contention]") {
    std::vector<fault> const lost{{.at = seconds(40), .node = 0},
                                  {.at = seconds(70), .what = sim::fault_kind::node_back, .node = 0}};
    auto const o = run({{0, 100, {0, 1}}, {0, 60, {1, 2}}}, 3, 0.5, lost);
    CHECK(o.jobs[1].finished == seconds(70 + 20));  // 20 steps by 40 s, 30 alone by 70 s
    CHECK(o.jobs[0].finished == seconds(90 + 70));  // 20 steps, none for 30 s, 10 more by 90 s
    CHECK(o.jobs[0].restarts == 1);
}

TEST_CASE("a job that is still starting holds its nodes, and starts no sooner for being slowed", "[sim][contention]") {
    auto const o = run({{0, 100, {0, 1}, 10}, {5, 10, {0, 1}, 25}}, 2, 0.5);
    // The second makes its steps from 30 to 50 s; the first 20 in these 40 s from 10 s on.
    CHECK(o.jobs[1].finished == seconds(50));
    CHECK(o.jobs[0].finished == seconds(50 + 80));
}

TEST_CASE("control: without interference nobody notices the others", "[sim][contention]") {
    auto const o = run({{0, 100, {0, 1}}, {0, 60, {0, 1}}, {5, 50, {1, 0}}}, 2, 0);
    CHECK(o.jobs[0].finished == seconds(100));
    CHECK(o.jobs[1].finished == seconds(60));
    CHECK(o.jobs[2].finished == seconds(55));
    CHECK(o.events == 6);  // no pace is set twice
}
