// SPDX-License-Identifier: BSL-1.0
// Several nodes: where jobs run, what each node has to give, and whom a lost node stops.
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/sim/cpu_model.hpp>
#include <ration/sim/generator.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using Catch::Approx;
using sim::fault;
using sim::fault_kind;

namespace {

/// A policy with an observer, which reads the holdings before each decision.
template <class P>
class watched final : public any_policy {
    policy_adapter<P> policy_;
    std::vector<column_info> schema_;
    std::function<void(scripted::gpu_sample const&)> probe_;

public:
    watched(P policy, std::function<void(scripted::gpu_sample const&)> probe)
        : policy_(std::move(policy)), probe_(std::move(probe)) {}
    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        schema_.assign(schema.begin(), schema.end());
        return policy_.bind(schema, most);
    }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        probe_({t, schema_});
        return policy_.decide(t, out);
    }
};

template <class P>
[[nodiscard]] sim::run_outcome simulate_watched(sim::workload const& jobs, sim::cluster const& machines, P policy,
                                                sim::sim_options const& options,
                                                std::function<void(scripted::gpu_sample const&)> probe) {
    watched<P> asked(std::move(policy), std::move(probe));
    scripted fallback([](auto const&, grants&) {});
    auto outcome = sim::simulation(jobs, machines, asked, fallback, options).run();
    RATION_ASSERT(outcome, "a test's premise does not hold");
    return std::move(outcome).value();
}

/// What is held of a resource on each node, and by how many nodes the job with the most of them is served.
struct held_by_node {
    std::vector<std::int64_t> amount;
    std::size_t most_nodes_of_a_job = 0;

    held_by_node(scripted::gpu_sample const& seen, resource_id of)
        : amount(seen.get<std::uint32_t>("nodes/type").size()) {
        auto const job = seen.get<std::uint64_t>("held/job");
        auto const node = seen.get<std::uint32_t>("held/node"), resource = seen.get<std::uint32_t>("held/resource");
        auto const held = seen.get<std::int64_t>("held/amount");
        std::uint64_t last = 0;
        std::size_t nodes = 0;
        for (std::size_t i = 0; i < job.size(); ++i) {
            if (resource[i] != static_cast<std::uint32_t>(of)) continue;
            if (held[i] != unlimited) amount[node[i]] += held[i];
            nodes = job[i] == last ? nodes + 1 : 1;
            last = job[i];
            most_nodes_of_a_job = std::max(most_nodes_of_a_job, nodes);
        }
    }
};

/// As in cpu.cpp: 100 steps per core second, one core each, tiers at steps 1000 and 3000.
[[nodiscard]] sim::workload trainers(std::size_t jobs, double apart, double length) {
    sim::workload w;
    sim::loss_curve const curve{.floor = 0, .power = 1, .power_steps = 1000, .exponent = 1};
    w.models.push_back(std::make_shared<sim::cpu_model>(curve, 100, 1, 0, std::vector{0.5, 0.25}));
    for (std::size_t j = 0; j < jobs; ++j)
        w.jobs.push_back({.submitted = seconds(apart * static_cast<double>(j)),
                          .request = 0,
                          .least = 0,
                          .most = 0,
                          .length = length});
    return w;
}

[[nodiscard]] sim::cluster cores_on(std::size_t nodes, double cores) {
    sim::cluster c;
    c.groups.push_back({.nodes = nodes, .devices = 0, .cores = cores});
    return c;
}

[[nodiscard]] fault lost(double at, std::uint32_t node) {
    return {.at = seconds(at), .what = fault_kind::node_lost, .node = node};
}
[[nodiscard]] fault back(double at, std::uint32_t node) {
    return {.at = seconds(at), .what = fault_kind::node_back, .node = node};
}

void place_on(grants& out, std::size_t job, std::size_t node, std::int64_t millicores = unlimited) {
    static_cast<void>(out.set(job, node, resource_id::cpu, millicores));
}

}  // namespace

TEST_CASE("elastic batch DP on two nodes: none gives more devices than it has, also while nodes are lost",
          "[sim][nodes]") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        auto const jobs = sim::make_scaling({.seed = seed, .jobs = 60, .jobs_per_hour = 60});
        std::vector const faults{lost(3000, 1), back(4000, 1), lost(9000, 0), back(9500, 0)};
        bool spread = false;
        auto const o = simulate_watched(jobs, nodes_of(2, 4), policies::elastic_batch_dp{}, {.faults = faults},
                                        [&](scripted::gpu_sample const& seen) {
                                            held_by_node const held(seen, resource_id::gpu);
                                            auto const there = seen.get<std::int64_t>("nodes/capacity.gpu");
                                            for (std::size_t node = 0; node < there.size(); ++node)
                                                REQUIRE(held.amount[node] <= there[node]);
                                            spread |= held.most_nodes_of_a_job == 2;
                                        });
        CHECK((o.how == sim::ending::all_done && o.rejected == 0 && o.refused_ticks == 0));
        CHECK(spread);  // its jobs may have more devices than a node
    }
}

TEST_CASE("a lost node does not stop a job on the devices of another, though its batch counts there", "[sim][nodes]") {
    auto const jobs = rigid({{.devices = 1, .length = 100}});
    std::vector const faults{lost(30, 0), back(50, 0)};
    auto const on_the_second = [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.get<std::int64_t>("jobs/held.gpu")[0] > 0) return;
        give(out, 0, 1, 1);
        static_cast<void>(out.set(0, 0, resource_id::batch, 32));
    };
    auto const o = simulate(jobs, nodes_of(2, 1), on_the_second, {.interval = {}, .faults = faults});
    CHECK((o.jobs[0].stops == 0 && o.jobs[0].finished == seconds(100)));
}

TEST_CASE("where several nodes have cores a job waits until it is placed, and starts then", "[sim][cpu][nodes]") {
    auto const jobs = trainers(2, 0, 1000);
    auto const o = simulate(jobs, cores_on(2, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                if (seconds(5) <= seen.tick.now) place_on(out, 0, 1);
                            },
                            {.interval = seconds(1), .limit = seconds(60)});
    CHECK((o.jobs[0].started == seconds(5) && o.jobs[0].finished == seconds(15)));
    CHECK((o.jobs[1].started.count == -1 && o.jobs[1].finished.count == -1));
}

TEST_CASE("a lost node does not stop a job that is not placed", "[sim][cpu][nodes]") {
    std::vector const faults{lost(10, 0), back(20, 0)};
    auto const o = simulate(trainers(1, 0, 1000), cores_on(2, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                if (seconds(30) <= seen.tick.now) place_on(out, 0, 1);
                            },
                            {.interval = seconds(1), .faults = faults});
    CHECK((o.jobs[0].stops == 0 && o.jobs[0].finished == seconds(40)));
}

TEST_CASE("a job that moves to another node goes at the speed of that node", "[sim][cpu][nodes]") {
    std::vector const faults{fault{.at = seconds(0), .what = fault_kind::node_slows, .node = 0, .speed = 0.5}};
    auto const o = simulate(trainers(1, 0, 1000), cores_on(2, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                bool const later = seconds(10) <= seen.tick.now;
                                if (later) place_on(out, 0, 0, 0);
                                place_on(out, 0, later);
                            },
                            {.interval = seconds(1), .faults = faults});
    CHECK(to_seconds(o.jobs[0].finished) == Approx(10 + 5));  // 500 steps at half the speed, and 500 at all of it
}

TEST_CASE("TRADL on two nodes: a job holds CPU on one, and the limits on a node add up to what it has at most",
          "[sim][cpu][tradl][nodes]") {
    std::vector const faults{lost(25, 1), back(40, 1), lost(60, 0), lost(61, 1), back(70, 0), back(75, 1)};
    std::int64_t limited = 0;
    auto const probe = [&](scripted::gpu_sample const& seen) {
        held_by_node const held(seen, resource_id::cpu);
        auto const there = seen.get<std::int64_t>("nodes/capacity.cpu");
        for (std::size_t node = 0; node < there.size(); ++node)
            REQUIRE((there[node] == 0 || held.amount[node] <= there[node]));
        REQUIRE(held.most_nodes_of_a_job <= 1);
        limited += held.amount[0] + held.amount[1];
    };
    auto const o = simulate_watched(trainers(9, 4, 6000), cores_on(2, 2),
                                    policies::tradl({.scenario = policies::tradl_scenario::AO}),
                                    {.interval = seconds(1), .faults = faults}, probe);
    CHECK((o.how == sim::ending::all_done && o.rejected == 0 && o.refused_ticks == 0));
    CHECK(limited > 0);
    for (auto const& job : o.jobs) CHECK(job.finished.count > 0);
}
