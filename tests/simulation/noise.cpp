// SPDX-License-Identifier: BSL-1.0
// Errors of predictions: policies read them, and the simulation continues with the exact values.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <ration/policies/fifo.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>

#include "scale/every_row.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using ration::sim::prediction_named;
using ration::sim::prediction_noise;

namespace {

[[nodiscard]] prediction_noise noise_of(std::string_view column, double sigma) {
    prediction_noise noise;
    noise.set(prediction_named(column), sigma);
    return noise;
}

/// What a policy has read of each job over the exact value, in the order of the ticks.
using ratios = std::map<std::uint64_t, std::vector<double>>;

struct observed_run {
    ratios remaining, total;
    sim::run_outcome outcome;
};

/// First come, first served. Jobs do a step each second, so that the test can compute the rest of each.
[[nodiscard]] observed_run observe(prediction_noise const& noise, std::uint64_t seed) {
    observed_run seen;
    auto const jobs = rigid({{.length = 1000}, {.length = 3000}, {.submitted = 30, .length = 500}});
    auto const machines = nodes_of(1, 3);
    scripted policy([&](scripted::gpu_sample const& tick, grants& out) {
        auto const id = tick.get<std::uint64_t>("jobs/id");
        auto const submitted = tick.get<std::int64_t>("jobs/submitted");
        auto const remaining = tick.get<double>("jobs/remaining"), total = tick.get<double>("jobs/total_steps");
        for (std::size_t row = 0; row < tick.jobs(); ++row) {
            if (!tick.is_active(row)) continue;
            double const length = jobs.jobs[id[row] - 1].length;
            double const passed = to_seconds(tick.tick.now - nanoseconds{submitted[row]});
            seen.remaining[id[row]].push_back(remaining[row] / (length - passed));
            seen.total[id[row]].push_back(total[row] / length);
        }
        first_fit(tick, out);
    });
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(60), .seed = seed, .noise = noise});
    auto outcome = run.run();
    REQUIRE(outcome);
    seen.outcome = std::move(outcome).value();
    return seen;
}

[[nodiscard]] bool same_times(sim::run_outcome const& a, sim::run_outcome const& b) {
    return std::ranges::equal(a.jobs, b.jobs, [](auto const& x, auto const& y) {
        return x.started == y.started && x.finished == y.finished && x.restarts == y.restarts;
    });
}

}  // namespace

TEST_CASE("prediction_noise: log-normal with median 1, and the given deviation of the logarithm", "[sim]") {
    auto const noise = noise_of("jobs/remaining", 0.5);
    std::vector<double> logs;
    double squares = 0;
    for (std::uint64_t job = 1; job <= 20'001; ++job) {
        logs.push_back(std::log(noise.factor<"jobs/remaining">(7, job)));
        squares += logs.back() * logs.back();
    }
    std::ranges::nth_element(logs, logs.begin() + 10'000);
    CHECK(std::abs(logs[10'000]) < 0.02);
    CHECK(std::sqrt(squares / 20'001) == Approx(0.5).epsilon(0.02));
}

TEST_CASE("prediction_noise: a function of seed, column and job; 1 for exact columns", "[sim]") {
    auto noise = noise_of("jobs/remaining", 0.5);
    CHECK(noise.factor<"jobs/total_steps">(7, 1) == 1);
    CHECK(noise_of("jobs/remaining", 0).none());
    noise.set(prediction_named("jobs/total_steps"), 0.5);
    CHECK_FALSE(noise.none());
    double const factor = noise.factor<"jobs/remaining">(7, 1);
    CHECK(factor == noise.factor<"jobs/remaining">(7, 1));
    CHECK(factor != noise.factor<"jobs/remaining">(8, 1));
    CHECK(factor != noise.factor<"jobs/remaining">(7, 2));
    CHECK(factor != noise.factor<"jobs/total_steps">(7, 1));
    CHECK(prediction_named("jobs/step") == sim::number_of_predictions);
}

TEST_CASE("simulation: a policy reads each job's value times one factor at every tick, and jobs end as before",
          "[sim]") {
    auto const noise = noise_of("jobs/remaining", 0.8);
    auto const exact = observe({}, 3), seen = observe(noise, 3);
    CHECK(same_times(exact.outcome, seen.outcome));
    REQUIRE(seen.remaining.size() == 3);
    for (auto const& [job, all] : seen.remaining) {
        REQUIRE(all.size() > 5);
        for (double const ratio : all) CHECK(ratio == Approx(noise.factor<"jobs/remaining">(3, job)));
        for (double const ratio : exact.remaining.at(job)) CHECK(ratio == Approx(1));
        for (double const ratio : seen.total.at(job)) CHECK(ratio == 1);
    }
    auto const total = observe(noise_of("jobs/total_steps", 0.8), 3);
    for (auto const& [job, all] : total.total)
        for (double const ratio : all)
            CHECK(ratio == Approx(noise_of("jobs/total_steps", 0.8).factor<"jobs/total_steps">(3, job)));
    CHECK(same_times(exact.outcome, total.outcome));
}

TEST_CASE("simulation: scaling is distorted once, however often it is written", "[sim]") {
    auto const jobs = sim::make_scaling({.seed = 2, .jobs = 20, .jobs_per_hour = 60});
    auto const machines = nodes_of(2, 8);
    auto const noise = noise_of("jobs/goodput", 0.8);
    auto const first_of = [&](prediction_noise const& with) {
        std::map<std::uint64_t, std::vector<double>> last;
        scripted policy([&](scripted::gpu_sample const& tick, grants& out) {
            auto const id = tick.get<std::uint64_t>("jobs/id");
            auto const goodput = tick.get<double>("jobs/goodput");
            std::size_t const width = goodput.size() / tick.jobs();
            for (std::size_t row = 0; row < tick.jobs(); ++row)
                last[id[row]].assign(goodput.begin() + static_cast<std::ptrdiff_t>(row * width),
                                     goodput.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
            first_fit(tick, out);
        });
        policy_adapter<policies::fifo> fallback;
        sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(60), .seed = 4, .noise = with});
        REQUIRE(run.run());
        return last;
    };
    auto const exact = first_of({}), seen = first_of(noise);
    REQUIRE(exact.size() == 20);
    for (auto const& [job, values] : exact)
        for (std::size_t k = 0; k < values.size(); ++k)
            CHECK(seen.at(job)[k] == Approx(values[k] * noise.factor<"jobs/goodput">(4, job)));
}

TEST_CASE("simulation: errors change what a policy decides, and a list of changes makes no difference", "[sim]") {
    auto const jobs = sim::make_rigid({.seed = 5, .jobs = 400, .jobs_per_hour = 60}, {.most_devices = 8});
    auto const machines = nodes_of(4, 4);
    auto const ran = [&](any_policy& policy, prediction_noise const& noise) {
        policy_adapter<policies::fifo> fallback;
        sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(60), .seed = 2, .noise = noise});
        auto outcome = run.run();
        REQUIRE(outcome);
        return std::move(outcome).value();
    };
    auto const noise = noise_of("jobs/remaining", 1.5);
    policy_adapter<policies::srtf> exact, again, listed;
    bench::every_row<policies::srtf> all(policies::srtf{});
    auto const right = ran(exact, {}), wrong = ran(listed, noise);
    CHECK_FALSE(same_times(right, wrong));
    CHECK(same_times(wrong, ran(again, noise)));
    CHECK(same_times(wrong, ran(all, noise)));
}
