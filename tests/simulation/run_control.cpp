// SPDX-License-Identifier: BSL-1.0
#include <ration/policies/fifo.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using sim::ending;

TEST_CASE("a bad grant is named with its tick, and the run goes on or stops as asked", "[sim]") {
    auto const jobs = rigid({{.length = 10}, {.submitted = 2, .length = 10}, {.submitted = 4, .length = 10}});
    auto const rule = [](scripted::gpu_sample const& seen, grants& out) {
        first_fit(seen, out);
        if (seen.tick.number == 1) give(out, 0, 7, 1);
    };
    auto const on = simulate(jobs, nodes_of(1, 3), rule);
    CHECK(on.how == ending::all_done);
    REQUIRE(on.first_bad);
    CHECK(on.first_bad->tick == 1);
    CHECK(on.first_bad->at == seconds(2));
    CHECK(on.first_bad->rule == check_rule::unknown_node);
    CHECK(on.first_bad->row.node == 7);
    CHECK(on.rejected == 1);
    auto const stopped = simulate(jobs, nodes_of(1, 3), rule, {.interval = {}, .stop_at_bad_grant = true});
    CHECK(stopped.how == ending::bad_grant);
    CHECK(stopped.end == seconds(2));
    CHECK(stopped.jobs[2].started.count == -1);
}

TEST_CASE("when a policy refuses its tick the fallback answers", "[sim]") {
    class refusing final : public any_policy {
        [[nodiscard]] meta const& about() const noexcept override {
            static constexpr meta m{.id = "org.example.refusing", .version = "1.0.0"};
            return m;
        }
        [[nodiscard]] result<void> bind(std::span<column_info const>, limits const&) noexcept override { return {}; }
        [[nodiscard]] status decide(tick_data const&, grants&) noexcept override { return status::internal; }
    } policy;
    scripted fallback(first_fit);
    auto const jobs = rigid({{.length = 10}, {.submitted = 2, .length = 10}});
    auto const machines = nodes_of(1, 2);
    sim::simulation run(jobs, machines, policy, fallback, {.interval = {}});
    auto o = run.run();
    REQUIRE(o);
    CHECK(o->how == ending::all_done);
    CHECK(o->refused_ticks == o->ticks);
}

TEST_CASE("the time limit ends a run between two events", "[sim]") {
    auto const jobs = rigid({{.length = 10}, {.submitted = 20, .length = 10}});
    auto const o = simulate(jobs, nodes_of(1, 2), first_fit, {.interval = {}, .limit = seconds(15)});
    CHECK(o.how == ending::time_limit);
    CHECK(o.end == seconds(15));
    CHECK(o.capacity_seconds == 30);
    CHECK(o.jobs[0].finished == seconds(10));
    CHECK(o.jobs[1].finished.count == -1);
}

TEST_CASE("a run in which devices go to and fro and nobody gets on ends as well", "[sim]") {
    auto jobs = rigid({{.devices = 2, .length = 10}});
    jobs.jobs[0].least = 1;  // which it accepts, and on which it does not run
    auto const o = simulate(jobs, nodes_of(2, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                std::size_t const here = seen.tick.number % 2;
                                give(out, 0, 1 - here, 0);
                                give(out, 0, here, 1);
                            },
                            {.interval = seconds(60)});
    CHECK(o.how == ending::starved);
    CHECK(o.first_bad == std::nullopt);
}

TEST_CASE("a job that needs more devices than there are does not lengthen a run", "[sim]") {
    for (auto const interval : {seconds(0), seconds(1), seconds(60)})
        for (double const late : {1, 700}) {
            auto const jobs = rigid({{.devices = 2, .length = 600}, {.submitted = late, .devices = 8, .length = 10}});
            auto const o = simulate(jobs, nodes_of(1, 4), first_fit, {.interval = interval});
            CHECK(o.how == ending::starved);
            CHECK(o.end == seconds(600));
            CHECK(o.capacity_seconds == 2400);
            CHECK(o.jobs[0].finished == seconds(600));
            CHECK(o.jobs[1].started.count == -1);
        }
}

TEST_CASE("it does not wait for the last fault either", "[sim]") {
    auto const jobs = rigid({{.devices = 2, .length = 600}, {.devices = 8, .length = 10}});
    sim::fault const late[] = {{.at = seconds(9000), .what = sim::fault_kind::node_lost, .node = 0}};
    auto const o = simulate(jobs, nodes_of(1, 4), first_fit, {.interval = {}, .faults = late});
    CHECK(o.end == seconds(600));
    CHECK(o.faults == 0);
}

TEST_CASE("a run that a policy starves ends at its last change, for any interval", "[sim]") {
    auto const jobs = rigid({{.devices = 2, .length = 600}, {.submitted = 5, .devices = 3, .length = 10}});
    for (auto const interval : {seconds(0), seconds(1), seconds(60)}) {
        auto const o = simulate(jobs, nodes_of(1, 4),
                                [](scripted::gpu_sample const& seen, grants& out) {
                                    if (seen.tick.number == 0) give(out, 0, 0, 2);
                                },
                                {.interval = interval});
        CHECK(o.how == ending::starved);
        CHECK(o.end == seconds(600));
        CHECK(o.jobs[0].device_seconds == 1200);
    }
}

TEST_CASE("a job that has waited long starts before the run counts as starved", "[sim]") {
    auto const o = simulate(rigid({{.length = 10}}), nodes_of(1, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                if (seen.tick.now >= seconds(3600)) give(out, 0, 0, 1);
                            },
                            {.interval = seconds(60)});
    CHECK(o.how == ending::all_done);
    CHECK(o.jobs[0].finished == seconds(3610));
}

TEST_CASE("a run that is longer than the clock ends at its end, and no time overflows", "[sim]") {
    double const century = 100 * 365.0 * 86400;
    for (auto const interval : {seconds(0), seconds(30 * 86400)})
        for (double const restart_cost : {0.0, 9e9}) {
            auto const jobs = rigid({{.length = 2.5 * century, .restart_cost = restart_cost},
                                     {.length = century, .restart_cost = restart_cost},
                                     {.submitted = 9e9, .length = 9e9, .restart_cost = restart_cost}});
            auto const o = simulate(jobs, nodes_of(1, 1), first_fit,
                                    {.interval = interval, .checkpoint = seconds(1), .save = seconds(30 * 86400)});
            CHECK(o.how == ending::time_limit);
            CHECK(o.end == sim::longest_run);
        }
    static_assert(sim::later_by(sim::longest_run, sim::longest_run) == sim::far_future);
    static_assert(sim::later_by(seconds(1), seconds(2)) == seconds(3));
    static_assert(sim::repeated(seconds(9e9), 2) == sim::far_future);
    static_assert(sim::time_of(1e30) == sim::far_future);
    static_assert(sim::time_of(1.5) == milliseconds(1500));
}
