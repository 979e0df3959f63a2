// SPDX-License-Identifier: BSL-1.0
// Jobs that share the processors of one machine, and TRADL among them.
#include <memory>
#include <string>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/sim/cpu_model.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using Catch::Approx;
using policies::tradl;
using policies::tradl_scenario;

namespace {

[[nodiscard]] std::vector<double> shares(std::vector<double> most, double cores) {
    std::vector<sim::cpu_claim> claims;
    for (std::uint32_t i = 0; i < most.size(); ++i) claims.push_back({.row = i, .most = most[i]});
    sim::share_fairly(claims, cores);
    std::vector<double> given(most.size());
    for (auto const& c : claims) given[c.row] = c.given;
    return given;
}

struct cpu_job {
    double submitted, length;
};

/// 100 steps per core second, one core each; the loss is 1 / (1 + s / 1000), so that the tiers 0.5 and 0.25 are at
/// steps 1000 and 3000.
[[nodiscard]] sim::workload trainers(std::vector<cpu_job> const& jobs) {
    sim::workload w;
    sim::loss_curve const curve{.floor = 0, .power = 1, .power_steps = 1000, .exponent = 1};
    w.models.push_back(std::make_shared<sim::cpu_model>(curve, 100, 1, 0, std::vector{0.5, 0.25}));
    for (auto const& j : jobs)
        w.jobs.push_back({.submitted = seconds(j.submitted), .request = 0, .least = 0, .most = 0, .length = j.length});
    return w;
}

[[nodiscard]] sim::cluster box(double cores) {
    sim::cluster c;
    c.groups.push_back({.nodes = 1, .devices = 0, .cores = cores});
    return c;
}

[[nodiscard]] sim::run_outcome under(tradl_scenario scenario, sim::workload const& jobs, sim::cluster const& machines) {
    policy_adapter<tradl> policy(tradl({.scenario = scenario}));
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(1)});
    auto outcome = run.run();
    RATION_ASSERT(outcome, "a test's premise does not hold");
    return std::move(outcome).value();
}

[[nodiscard]] sim::run_outcome under(tradl_scenario scenario, sim::workload const& jobs, double cores) {
    return under(scenario, jobs, box(cores));
}

[[nodiscard]] double seconds_to(nanoseconds t, sim::job_outcome const& job) { return to_seconds(t - job.submitted); }

/// A trainer that ration leaves alone at its last tier.
class stubborn_model final : public sim::job_model {
    std::shared_ptr<job_model const> of_;

public:
    explicit stubborn_model(std::shared_ptr<job_model const> of) : of_(std::move(of)) {}

    [[nodiscard]] sim::speed_segment at(sim::job_description const& job, sim::allocation const& held,
                                        double step) const noexcept override {
        return of_->at(job, held, step);
    }
    void show(sim::job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
              sim::scaling const& out) const noexcept override {
        of_->show(job, step, type, devices_per_node, out);
    }
    [[nodiscard]] double cores(sim::job_description const& job) const noexcept override { return of_->cores(job); }
    [[nodiscard]] std::uint32_t tiers(sim::job_description const& job) const noexcept override {
        return of_->tiers(job);
    }
    [[nodiscard]] std::uint32_t tier_at(sim::job_description const& job, double step) const noexcept override {
        return of_->tier_at(job, step);
    }
    [[nodiscard]] bool trains_on(sim::job_description const&) const noexcept override { return true; }
};

}  // namespace

TEST_CASE("processors are shared fairly, within what each can use", "[sim][cpu]") {
    CHECK(shares({1, 1}, 1) == std::vector{0.5, 0.5});
    CHECK(shares({1, 0.2, 1}, 1) == std::vector{0.4, 0.2, 0.4});
    CHECK(shares({1, 1}, 4) == std::vector{1.0, 1.0});
    CHECK(shares({0, 2, 0.25, 4}, 3) == std::vector{0.0, 1.375, 0.25, 1.375});
    CHECK(shares({}, 3).empty());
}

TEST_CASE("jobs on processors run from when they come, and slow each other down", "[sim][cpu]") {
    auto const jobs = trainers({{0, 1000}, {5, 500}});
    auto const o = simulate(jobs, box(1), [](auto const&, grants&) {});
    CHECK(o.jobs[0].started == seconds(0));
    CHECK(o.jobs[1].started == seconds(5));
    // 500 steps alone, then 50 a second each: the second is done after 10 s, and so is the first.
    CHECK(o.jobs[1].finished == seconds(15));
    CHECK(o.jobs[0].finished == seconds(15));
    CHECK(o.jobs[0].acceptable == seconds(15));
    CHECK(o.jobs[0].objective.count == -1);
}

TEST_CASE("a limit holds back one job, and the others get what it leaves", "[sim][cpu]") {
    auto const jobs = trainers({{0, 1000}, {0, 3000}});
    auto const o = simulate(jobs, box(1), [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.tick.number == 0) static_cast<void>(out.set(0, 0, resource_id::cpu, 200));
    });
    CHECK(o.jobs[1].finished == seconds(37.5));  // 80 steps a second
    CHECK(o.jobs[0].finished == seconds(50));    // 20 a second, for the limit stays
    CHECK(o.jobs[1].acceptable == seconds(12.5));
    CHECK(o.jobs[1].objective == seconds(37.5));
}

TEST_CASE("jobs get only a part of the processors that their policy sees", "[sim][cpu]") {
    auto const jobs = trainers({{0, 1000}, {0, 1000}});
    std::int64_t capacity = 0;
    double used = 0;
    auto const o = simulate(jobs, box(2),
                            [&](scripted::gpu_sample const& seen, grants&) {
                                capacity = seen.get<std::int64_t>("nodes/capacity.cpu")[0];
                                used = std::max(used, seen.get<double>("jobs/used.cpu")[1]);
                            },
                            {.interval = seconds(1), .most_used_cores = 0.5});
    CHECK(o.jobs[1].finished == seconds(40));  // 25 steps a second each
    CHECK(capacity == 2000);
    CHECK(used == 250);
}

TEST_CASE("a job that trains on stays at its first tier for its policy, and is not released", "[sim][cpu]") {
    auto jobs = trainers({{0, 4000}, {0, 8000}});
    jobs.models.push_back(std::make_shared<stubborn_model>(jobs.models[0]));
    jobs.jobs[0].model = 1;
    auto const o = under(tradl_scenario::FT, jobs, 1);
    CHECK_FALSE(o.jobs[0].released);
    CHECK(o.jobs[1].released);
    CHECK((o.jobs[0].acceptable.count > 0 && o.jobs[0].objective > o.jobs[0].acceptable));
    CHECK(o.jobs[0].finished > o.jobs[0].objective);
}

TEST_CASE("a lost node takes its processors along, and its jobs go on when it is back", "[sim][cpu]") {
    auto const jobs = trainers({{0, 6000}});
    sim::fault const faults[] = {{.at = seconds(40), .what = sim::fault_kind::node_lost},
                                 {.at = seconds(50), .what = sim::fault_kind::node_back}};
    auto const at_objective = [](scripted::gpu_sample const& seen, grants& out) {
        if (seen.get<std::uint32_t>("jobs/tier")[0] == 2) static_cast<void>(out.set(0, 0, resource_id::cpu, 900));
    };
    for (bool const limited : {false, true}) {
        auto const o = simulate(jobs, box(1), limited ? scripted::rule(at_objective) : [](auto const&, grants&) {},
                                {.interval = {}, .faults = faults});
        CHECK_FALSE(o.jobs[0].released);  // what it held is gone with the node, and no policy took it away
        CHECK(to_seconds(o.jobs[0].finished) == Approx(limited ? 30 + 10 + 10 + 21 / 0.9 : 70));
    }
}

TEST_CASE("an observer hears how many cores a job gets, and that it has none in the end", "[sim][cpu]") {
    struct listener final : sim::run_observer {
        std::string received;
        void submitted(nanoseconds, std::uint64_t) noexcept override {}
        void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override { received += "devices "; }
        void finished(nanoseconds, std::uint64_t) noexcept override { received += "done "; }
        void uses(nanoseconds now, std::uint64_t job, double cores) noexcept override {
            received += std::to_string(now.count / 1'000'000'000) + ':' + std::to_string(job) + '=' +
                        std::to_string(cores).substr(0, 3) + ' ';
        }
    } listener;
    auto const jobs = trainers({{0, 1000}, {5, 1000}});
    static_cast<void>(simulate(jobs, box(1), [](auto const&, grants&) {}, {.interval = {}, .observer = &listener}));
    CHECK(listener.received == "0:1=1.0 5:1=0.5 5:2=0.5 15:1=0.0 done 15:2=1.0 20:2=0.0 done ");
}

// Three jobs on one core, 10 s apart; alone each needs 10 s to Acceptable and 30 s to Objective, and 60 s to its own
// end.
TEST_CASE("TRADL in the simulator: FT before AO before NA for those that come late", "[sim][cpu][tradl]") {
    auto const jobs = trainers({{0, 6000}, {10, 6000}, {20, 6000}});
    auto const na = under(tradl_scenario::NA, jobs, 1), ao = under(tradl_scenario::AO, jobs, 1),
               ft = under(tradl_scenario::FT, jobs, 1);
    auto const late = [](sim::run_outcome const& o) {
        return (seconds_to(o.jobs[1].acceptable, o.jobs[1]) + seconds_to(o.jobs[2].acceptable, o.jobs[2])) / 2;
    };
    CHECK(ao.how == sim::ending::all_done);
    CHECK(late(ao) < 0.8 * late(na));
    CHECK(late(ft) <= late(ao) * 1.01);
    CHECK(to_seconds(ao.end) <= to_seconds(na.end) * 1.01);  // no core is left idle
    CHECK(ao.jobs[0].objective > na.jobs[0].objective);      // the first pays for it
    CHECK(ft.end < ao.end);
    // At the next tick
    for (auto const& job : ft.jobs) CHECK((job.released && to_seconds(job.finished - job.objective) <= 1));
    for (auto const& job : ao.jobs) CHECK_FALSE(job.released);
}

TEST_CASE("TRADL on two nodes: each runs as if it was alone with the jobs that are placed there", "[sim][cpu][tradl]") {
    std::vector<cpu_job> const all{{0, 6000}, {10, 6000}, {20, 6000}, {40, 6000}};
    sim::cluster two;
    two.groups.push_back({.nodes = 2, .devices = 0, .cores = 1});
    auto const o = under(tradl_scenario::AO, trainers(all), two);
    // The third finds both nodes full with a job each, and the fourth the second node with fewer jobs.
    auto const first = under(tradl_scenario::AO, trainers({all[0], all[2]}), 1),
               second = under(tradl_scenario::AO, trainers({all[1], all[3]}), 1);
    CHECK(o.how == sim::ending::all_done);
    CHECK((o.jobs[0].finished == first.jobs[0].finished && o.jobs[2].finished == first.jobs[1].finished));
    CHECK((o.jobs[1].finished == second.jobs[0].finished && o.jobs[3].finished == second.jobs[1].finished));
}

TEST_CASE("TRADL changes nothing for jobs that do not compete", "[sim][cpu][tradl]") {
    auto const jobs = trainers({{0, 6000}, {10, 6000}, {20, 6000}});
    auto const na = under(tradl_scenario::NA, jobs, 3), ao = under(tradl_scenario::AO, jobs, 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(seconds_to(na.jobs[i].acceptable, na.jobs[i]) == 10);
        CHECK(seconds_to(ao.jobs[i].acceptable, ao.jobs[i]) == 10);
    }
}
