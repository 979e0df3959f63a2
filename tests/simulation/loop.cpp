// SPDX-License-Identifier: BSL-1.0
#include <string>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using sim::ending;

TEST_CASE("two jobs after one another on one device: when each starts and ends", "[sim]") {
    auto const o =
        simulate(rigid({{.submitted = 10, .length = 100}, {.submitted = 50, .length = 30}}), nodes_of(1, 1), first_fit);
    CHECK(o.how == ending::all_done);
    REQUIRE(o.jobs.size() == 2);
    CHECK(o.jobs[0].started == seconds(10));
    CHECK(o.jobs[0].finished == seconds(110));
    CHECK(o.jobs[1].submitted == seconds(50));
    CHECK(o.jobs[1].started == seconds(110));
    CHECK(o.jobs[1].finished == seconds(140));
    CHECK(o.end == seconds(140));
    CHECK(o.ticks == 4);  // two arrivals, two ends
    CHECK(o.jobs[0].device_seconds == 100);
    CHECK(o.jobs[1].device_seconds == 30);
    CHECK(o.capacity_seconds == 140);
    CHECK(o.jobs[1].restarts == 0);
}

TEST_CASE("what is free is free at the end of a job, for whoever comes at that moment", "[sim]") {
    auto const o = simulate(rigid({{.length = 100}, {.submitted = 100, .length = 5}}), nodes_of(1, 1), first_fit);
    CHECK(o.jobs[1].started == seconds(100));
    CHECK(o.ticks == 3);  // the end and the arrival are one tick
}

TEST_CASE("simulation: a policy reads the priorities of the jobs", "[sim]") {
    auto jobs = rigid({{.length = 10}, {.length = 10}, {.length = 10}});
    jobs.jobs[1].priority = 5;
    jobs.jobs[2].priority = -5;
    auto const o = simulate(jobs, nodes_of(1, 1), [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.get<std::int64_t>("nodes/free.gpu")[0] == 0) return;
        auto const priority = seen.get<std::int64_t>("jobs/priority");
        std::size_t urgent = seen.jobs();
        for (std::size_t row = 0; row < seen.jobs(); ++row)
            if (seen.is_active(row) && (urgent == seen.jobs() || priority[row] > priority[urgent])) urgent = row;
        if (urgent < seen.jobs()) give(out, urgent, 0, 1);
    });
    CHECK(o.jobs[1].started == seconds(0));
    CHECK(o.jobs[0].started == seconds(10));
    CHECK(o.jobs[2].started == seconds(20));
}

TEST_CASE("a job on several nodes runs as a whole, and a part of it is refused", "[sim]") {
    auto const jobs = rigid({{.devices = 6, .length = 10}});
    auto const whole = simulate(jobs, nodes_of(2, 4), [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.tick.number == 0) {
            give(out, 0, 0, 4);
            give(out, 0, 1, 2);
        }
    });
    CHECK(whole.jobs[0].finished == seconds(10));
    CHECK(whole.rejected == 0);
    CHECK(whole.jobs[0].device_seconds == 60);
    auto const part = simulate(jobs, nodes_of(2, 4), [](auto const&, grants& out) { give(out, 0, 0, 4); });
    CHECK(part.how == ending::starved);
    CHECK(part.rejected == 1);
    REQUIRE(part.first_bad);
    CHECK(part.first_bad->rule == check_rule::below_minimum);
    CHECK(part.first_bad->row.amount == 4);
    CHECK(part.first_bad->tick == 0);
}

namespace {

/// Runs job 0 until job 1 comes, then job 1 until it is done.
void preempt(scripted::gpu_sample const& seen, grants& out) {
    auto const held = seen.get<std::int64_t>("jobs/held.gpu");
    bool const second = seen.jobs() > 1 && seen.is_active(1);
    if (second && held[0] > 0) give(out, 0, 0, 0);
    if (second && held[1] == 0) give(out, 1, 0, 1);
    if (!second && seen.is_active(0) && held[0] == 0) give(out, 0, 0, 1);
}

}  // namespace

TEST_CASE("a job that is stopped keeps its steps, and pays for each start on other devices", "[sim]") {
    auto const jobs = rigid({{.length = 100, .restart_cost = 7}, {.submitted = 40, .length = 20, .restart_cost = 3}});
    auto const o = simulate(jobs, nodes_of(1, 1), preempt);
    CHECK(o.jobs[1].started == seconds(40));
    CHECK(o.jobs[1].finished == seconds(63));  // 3 to start, 20 of work
    CHECK(o.jobs[0].restarts == 1);
    CHECK(o.jobs[0].finished == seconds(63 + 7 + 100 - (40 - 7)));
    CHECK(o.jobs[0].device_seconds == 40 + 74);
}

TEST_CASE("devices that wander among jobs that stand still are no progress, and the run ends", "[sim]") {
    auto jobs = rigid({{.devices = 2, .length = 1}, {.devices = 2, .length = 1}});
    for (auto& job : jobs.jobs) job.least = 1;  // and make no progress on one device
    auto const o = simulate(jobs, nodes_of(1, 1),
                            [](scripted::gpu_sample const& seen, grants& out) {
                                std::size_t const turn = seen.tick.number % 2;
                                give(out, 1 - turn, 0, 0);
                                give(out, turn, 0, 1);
                            },
                            {.interval = seconds(1), .limit = seconds(100'000)});
    CHECK(o.how == ending::starved);
    CHECK(o.changes > 1000);
    CHECK(o.rejected == 0);
}

TEST_CASE("policies see steps, service and what remains as they are at the tick", "[sim]") {
    std::string seen_at;
    auto const jobs =
        rigid({{.devices = 2, .length = 100}, {.submitted = 30, .length = 1}, {.submitted = 45, .length = 1}});
    static_cast<void>(simulate(jobs, nodes_of(1, 2), [&](scripted::gpu_sample const& seen, grants& out) {
        first_fit(seen, out);
        seen_at += std::to_string(seen.tick.now.count / 1'000'000'000) + ":" +
                   std::to_string(seen.get<std::uint64_t>("jobs/step")[0]) + "/" +
                   std::to_string(static_cast<int>(seen.get<double>("jobs/remaining")[0])) + "/" +
                   std::to_string(static_cast<int>(seen.get<double>("jobs/attained")[0])) + "/" +
                   std::to_string(seen.get<std::int64_t>("jobs/started")[0] / 1'000'000'000) + "/" +
                   std::to_string(seen.get<std::uint32_t>("jobs/state")[0]) + ' ';
    }));
    CHECK(seen_at.substr(0, 66) == "0:0/100/0/0/0 30:30/70/60/0/1 45:45/55/90/0/1 100:100/0/200/0/3 10");
}

TEST_CASE("a tick comes at every multiple of the interval while there are jobs", "[sim]") {
    std::string times;
    auto const rule = [&](scripted::gpu_sample const& seen, grants& out) {
        first_fit(seen, out);
        times += std::to_string(seen.tick.now.count / 1'000'000'000) + ' ';
    };
    auto const jobs = rigid({{.submitted = 5, .length = 20}, {.submitted = 95, .length = 12}});
    static_cast<void>(simulate(jobs, nodes_of(1, 1), rule, {.interval = seconds(10)}));
    CHECK(times == "5 10 20 25 95 100 107 ");
}

namespace {

/// Twice as fast from the 50th step on, and twice as fast on two devices.
class two_phases final : public sim::job_model {
public:
    [[nodiscard]] sim::speed_segment at(sim::job_description const&, sim::allocation const& held,
                                        double step) const noexcept override {
        double const rate = static_cast<double>(held.devices) * (step < 50 ? 1 : 2);
        return step < 50 ? sim::speed_segment{rate, 50} : sim::speed_segment{rate};
    }
    void show(sim::job_description const&, double step, std::uint32_t, std::int64_t,
              sim::scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = static_cast<double>(k) * (step < 50 ? 1 : 2);
            out.batch[k] = 32;
        }
    }
};

}  // namespace

TEST_CASE("an elastic job changes its pace with its devices and its phases", "[sim]") {
    sim::workload w;
    w.models.push_back(std::make_shared<two_phases>());
    w.jobs.push_back({.request = 1, .least = 1, .most = 2, .length = 100});
    w.jobs.push_back({.submitted = seconds(20), .request = 1, .least = 1, .most = 2, .length = 5});
    std::string goodput;
    auto const o = simulate(w, nodes_of(1, 3), [&](scripted::gpu_sample const& seen, grants& out) {
        auto const held = seen.get<std::int64_t>("jobs/held.gpu");
        goodput += std::to_string(static_cast<int>(seen.get<double>("jobs/goodput")[2])) + ' ';
        if (seen.jobs() == 1) give(out, 0, 0, 1);
        if (seen.jobs() == 2 && held[1] == 0 && seen.is_active(1)) {
            give(out, 0, 0, 2);
            give(out, 1, 0, 1);
        }
    });
    CHECK(o.jobs[1].finished == seconds(25));
    CHECK(o.jobs[0].restarts == 1);
    // 20 steps in 20 s, 30 more in 15 s, 50 at 4 a second
    CHECK(o.jobs[0].finished == seconds(20 + 15 + 12.5));
    CHECK(goodput == "2 2 2 4 ");  // the policy is not asked at 35, where the phase ends
}

TEST_CASE("two runs give the same, and nothing is allocated from the second half on", "[sim]") {
    std::vector<rigid_job> all;
    for (int i = 0; i < 4000; ++i)
        all.push_back({.submitted = i * 7.0, .devices = 1 + i % 4, .length = 10.0 + (i * 37) % 50});
    auto const jobs = rigid(all);
    std::size_t ticks = 0, before = 0, after = 0;
    auto const rule = [&](scripted::gpu_sample const& seen, grants& out) {
        std::int64_t free = seen.get<std::int64_t>("nodes/free.gpu")[0];
        auto const held = seen.get<std::int64_t>("jobs/held.gpu"), wants = seen.get<std::int64_t>("jobs/request.gpu");
        for (std::size_t row = 0; row < seen.jobs(); ++row)
            if (seen.is_active(row) && held[row] == 0 && wants[row] <= free) {
                free -= wants[row];
                give(out, row, 0, wants[row]);
            }
        ++ticks;
        if (ticks == 3000) before = allocations();
        if (ticks == 5500) after = allocations();
    };
    auto const first = simulate(jobs, nodes_of(1, 16), rule);
    CHECK(first.how == ending::all_done);
    REQUIRE(after != 0);
    CHECK(after == before);
    ticks = 0;
    auto const second = simulate(jobs, nodes_of(1, 16), rule);
    bool same = first.ticks == second.ticks && first.end == second.end;
    for (std::size_t i = 0; i < first.jobs.size(); ++i)
        same = same && first.jobs[i].finished == second.jobs[i].finished;
    CHECK(same);
}
