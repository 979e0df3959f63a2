// SPDX-License-Identifier: BSL-1.0
// Bounds and figures of jobs on processors.
#include <ration/policies/equal_share.hpp>
#include <ration/policies/flowcon.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/sim/cpu_model.hpp>

#include "instances.hpp"
#include "support/catch.hpp"

using namespace sim_program;
using policies::tradl;
using policies::tradl_scenario;

namespace {

/// A hundred steps a second on a core. The loss is 1 / (1 + s / 1000), so that the tiers 0.5 and 0.25 are at steps 1000
/// and 3000.
[[nodiscard]] std::shared_ptr<job_model const> trainer(double parallelism, std::vector<double> tiers = {0.5, 0.25}) {
    loss_curve const curve{.floor = 0, .power = 1, .power_steps = 1000, .exponent = 1};
    return std::make_shared<cpu_model>(curve, 100, parallelism, 0, std::move(tiers));
}

[[nodiscard]] job_description on_cpu(double submitted, double length, std::uint32_t model = 0) {
    return {.submitted = seconds(submitted), .model = model, .request = 0, .least = 0, .most = 0, .length = length};
}

[[nodiscard]] workload trainers(std::vector<job_description> jobs,
                                std::vector<std::shared_ptr<job_model const>> models) {
    return {.name = "trainers",
            .jobs = std::move(jobs),
            .job_names = {},
            .tenants = {"default"},
            .models = std::move(models),
            .model_names = {}};
}

[[nodiscard]] cluster box(double cores, std::int64_t devices = 0) {
    return {.groups = {{.nodes = 1, .devices = devices, .cores = cores}}};
}

/// Limits every job at random, and releases some that have reached their last tier.
struct random_limits {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tier">,
                           in<std::uint32_t, "jobs/tiers">, in<std::int64_t, "nodes/capacity.cpu">>;
    static constexpr meta about{.id = "test.random-limits", .version = "1.0.0"};

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        std::minstd_rand rng(static_cast<unsigned>(t.seed() + 1));
        std::int64_t const capacity = t.get<"nodes/capacity.cpu">()[0],
                           each = capacity / static_cast<std::int64_t>(t.jobs() + 1);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!is_active(static_cast<job_state>(t.get<"jobs/state">()[row]))) continue;
            auto const tiers = t.get<"jobs/tiers">()[row];
            std::int64_t amount =
                rng() % 2 == 0 ? unlimited : cpu_limit(each / 10 + static_cast<std::int64_t>(rng()) % each, {});
            if (tiers > 0 && t.get<"jobs/tier">()[row] == tiers && rng() % 2 == 0) amount = 0;
            if (!out.set(row, 0, resource_id::cpu, amount)) return status::capacity;
        }
        return status::ok;
    }
};

struct cpu_instances {
    std::minstd_rand rng;
    [[nodiscard]] double upto(double most) { return most * static_cast<double>(rng() % 10000 + 1) / 10000; }

    /// Some can use a part of a core, some several; some have tiers, and most train beyond the last one.
    [[nodiscard]] workload jobs() {
        std::vector<job_description> jobs;
        double at = 0;
        for (std::size_t i = 0, n = rng() % 10 + 1; i < n; ++i) {
            at += rng() % 3 == 0 ? 0 : upto(40);
            jobs.push_back(
                on_cpu(at, 100 + upto(rng() % 4 == 0 ? 20'000 : 5000), static_cast<std::uint32_t>(rng() % 4)));
        }
        return trainers(std::move(jobs), {trainer(1), trainer(0.4), trainer(3), trainer(1.5, {})});
    }
};

}  // namespace

TEST_CASE("what a job on processors needs, by hand") {
    auto const jobs = trainers({on_cpu(0, 6000), on_cpu(0, 2000), on_cpu(0, 6000, 1), on_cpu(0, 6000, 2)},
                               {trainer(2), trainer(2, {}), trainer(0.5)});
    for (double const cores : {1.0, 4.0}) {
        auto const needs = needs_of(jobs, box(cores));
        double const used = std::min(2.0, cores);
        CHECK(needs[0].work == Approx(30));  // it may be released at step 3000
        CHECK(needs[0].seconds == Approx(30 / used));
        CHECK(needs[0].after == Approx(15 / used));
        CHECK(needs[1].work == Approx(20));  // its own end comes before its last tier
        CHECK(needs[2].work == Approx(60));  // it has no tiers
        CHECK(needs[3].work == Approx(30));
        CHECK(needs[3].seconds == Approx(60));
    }
    CHECK_FALSE(needs_of(jobs, box(0, 8))[0].possible());
    auto const machines = box(4);
    needs_reader reader(jobs, machines);
    CHECK(reader.seconds_with(jobs.jobs[0], 4) == Approx(30));
    CHECK(reader.seconds_with(jobs.jobs[0], 0.5) == Approx(120));
    CHECK(reader.seconds_with(jobs.jobs[0], 0.5, job_end::last_tier) == Approx(60));
}

TEST_CASE("the bounds of jobs on processors are reached where a schedule reaches them") {
    auto const all = [](workload const& jobs, cluster const& machines) { return limits_of(jobs, machines); };
    SECTION("one core: the least work left first") {
        // Done at 14, 5, 6
        auto const jobs = trainers({on_cpu(0, 1000), on_cpu(2, 300), on_cpu(4, 100)}, {trainer(1, {})});
        CHECK(all(jobs, box(1)).mean_jct == Approx((14 + 3 + 2) / 3.0));
        CHECK(all(jobs, box(1)).makespan == Approx(14));
        CHECK(all(jobs, box(1)).jobs == 3);
    }
    SECTION("four jobs of one core each on two: two at a time") {
        auto const jobs =
            trainers({on_cpu(0, 1000), on_cpu(0, 1000), on_cpu(0, 1000), on_cpu(0, 1000)}, {trainer(1, {})});
        CHECK(all(jobs, box(2)).mean_jct == Approx(15));
    }
    SECTION("each with a core of its own: alone, up to its last tier") {
        auto const jobs = trainers({on_cpu(5, 6000), on_cpu(5, 6000)}, {trainer(1)});
        CHECK(all(jobs, box(2)).mean_jct == Approx(30));
        auto const ran = run<tradl>(jobs, box(2), tradl({.scenario = tradl_scenario::FT}), {.interval = seconds(1)});
        CHECK(of(jobs, box(2), ran).mean_jct == Approx(30));
    }
    SECTION("devices and cores are two machines: their jobs do not wait for each other") {
        auto jobs = trainers({on_cpu(0, 1000), on_cpu(0, 1000), rigid(0, 1, 40)},
                             {trainer(1, {}), std::make_shared<rigid_model>()});
        jobs.jobs[2].model = 1;
        CHECK(all(jobs, box(1, 1)).mean_jct == Approx((10 + 20 + 40) / 3.0));
        CHECK(all(jobs, box(1, 1)).makespan == Approx(40));
    }
}

TEST_CASE("no policy beats the bounds of jobs on processors") {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        cpu_instances made{std::minstd_rand(seed)};
        auto const jobs = made.jobs();
        auto const machines = box(static_cast<double>(seed % 3 + 1));
        sim_options const how{.interval = seconds(5), .seed = seed};
        auto const least = limits_of(jobs, machines);
        CAPTURE(seed);
        for (auto const scenario : {tradl_scenario::NA, tradl_scenario::AO, tradl_scenario::FT})
            REQUIRE(beaten(least, jobs, machines, run<tradl>(jobs, machines, tradl({.scenario = scenario}), how)) ==
                    "");
        REQUIRE(beaten(least, jobs, machines, run<policies::flowcon>(jobs, machines, {}, how)) == "");
        REQUIRE(beaten(least, jobs, machines, run<policies::equal_share>(jobs, machines, {}, how)) == "");
        REQUIRE(beaten(least, jobs, machines, run<random_limits>(jobs, machines, {}, how)) == "");
    }
}

TEST_CASE("the fairness of jobs on processors, by hand") {
    SECTION("two share a core all the time: nobody is slower than with half of it") {
        auto const jobs = trainers({on_cpu(0, 1000), on_cpu(0, 1000)}, {trainer(1, {})});
        auto const f = of(jobs, box(1), run<policies::none>(jobs, box(1)));
        CHECK(f.mean_jct == Approx(20));
        CHECK(f.mean_rho == Approx(1));
        CHECK(f.jain == Approx(1));
        CHECK(f.unfair == 0);
    }
    SECTION("a share of two cores is no faster than the one that a job can use") {
        auto const jobs = trainers({on_cpu(0, 1000), on_cpu(0, 1000)}, {trainer(1, {})});
        CHECK(of(jobs, box(4), run<policies::none>(jobs, box(4))).worst_rho == Approx(1));
    }
    SECTION("who is there on devices takes no part of the cores") {
        auto jobs = trainers({on_cpu(0, 1000), rigid(0, 1, 10)}, {trainer(1, {}), std::make_shared<rigid_model>()});
        jobs.jobs[1].model = 1;
        auto const f = of(jobs, box(1, 1), run<policies::fifo>(jobs, box(1, 1)));
        CHECK(f.mean_jct == Approx(10));
        CHECK(f.mean_rho == Approx(1));
    }
    SECTION("whoever is released is compared up to there, and whoever is not up to its end") {
        auto const jobs = trainers({on_cpu(0, 6000)}, {trainer(1)});
        auto const ft = run<tradl>(jobs, box(1), {}, {.interval = {}}), na = run<policies::none>(jobs, box(1));
        CHECK(ft.jobs[0].released);
        CHECK(of(jobs, box(1), ft).mean_jct == Approx(30));
        CHECK(of(jobs, box(1), ft).mean_rho == Approx(1));
        CHECK_FALSE(na.jobs[0].released);
        CHECK(of(jobs, box(1), na).mean_jct == Approx(60));
        CHECK(of(jobs, box(1), na).mean_rho == Approx(1));
        CHECK(of(jobs, box(1), na).jain == Approx(1));
    }
}
