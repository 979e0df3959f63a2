// SPDX-License-Identifier: BSL-1.0
#include <ration/sim/generator.hpp>
#include <ration/sim/streamed_summary.hpp>
#include <ration/sim/time_series.hpp>

#include "instances.hpp"
#include "support/catch.hpp"

using namespace sim_program;

namespace {

/// Gives the second job more than it accepts.
struct greedy {
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint32_t, "jobs/state">>;
    static constexpr meta about{.id = "test.greedy", .version = "1.0.0"};
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.jobs() > 1 && !out.set(1, 0, resource_id::gpu, 9)) return status::capacity;
        return out.set(0, 0, resource_id::gpu, 1) ? status::ok : status::capacity;
    }
};

}  // namespace

TEST_CASE("the figures of three jobs on one device, by hand") {
    auto const machines = of_nodes(1, 1);
    auto const jobs = of_jobs({rigid(10, 1, 10), rigid(10, 1, 20), rigid(20, 1, 30)});
    auto const f = of(jobs, machines, run<policies::fifo>(jobs, machines));  // done at 20, 40, 70
    CHECK(f.jobs == 3);
    CHECK(f.finished == 3);
    CHECK(f.never_started == 0);
    CHECK(f.mean_jct == Approx((10 + 30 + 50) / 3.0));
    CHECK(f.median_jct == Approx(30));
    CHECK(f.p95_jct == Approx(30 + 0.9 * 20));
    CHECK(f.p99_jct == Approx(30 + 0.98 * 20));
    CHECK(f.worst_jct == Approx(50));
    CHECK(f.mean_wait == Approx((0 + 10 + 20) / 3.0));
    CHECK(f.makespan == Approx(60));
    CHECK(f.utilisation == Approx(60 / 70.0));  // no job is there in the first 10 seconds
    CHECK(f.restarts == 0);
    double const x = 1, y = 20 / 30.0, z = 30 / 50.0;
    CHECK(f.jain == Approx((x + y + z) * (x + y + z) / (3 * (x * x + y * y + z * z))));
    // Two are there from 10 to 40, one from then on: shares of 1/2, 1/2 and 1 / (70/50).
    double const a = 10 / 20.0, b = 30 / 40.0, c = 50 / (30 * 70 / 50.0);
    CHECK(f.mean_rho == Approx((a + b + c) / 3));
    CHECK(f.worst_rho == Approx(c));
    CHECK(f.unfair == Approx(1 / 3.0));
    CHECK(std::isnan(f.deadlines_met));
}

TEST_CASE("jobs that are not done count among the jobs and in no time") {
    auto const machines = of_nodes(1, 2);
    auto jobs = of_jobs({rigid(0, 1, 10), rigid(0, 1, 100), rigid(5, 2, 10), rigid(5, 4, 10)});
    for (auto& job : jobs.jobs) job.deadline = seconds(10);
    auto const f = of(jobs, machines, run<policies::fifo>(jobs, machines, {}, {.limit = seconds(50)}));
    CHECK(f.jobs == 4);
    CHECK(f.finished == 1);
    CHECK(f.never_started == 2);
    CHECK(f.mean_jct == Approx(10));
    CHECK(f.deadlines_met == Approx(0.25));
}

TEST_CASE("restarts are counted for each job, and a run without jobs has no figures") {
    auto const machines = of_nodes(1, 1);
    auto const jobs = of_jobs({rigid(0, 1, 100), rigid(10, 1, 5)});
    CHECK(of(jobs, machines, run<policies::srtf>(jobs, machines)).restarts == Approx(0.5));
    auto const none = of(of_jobs({}), machines, run<policies::fifo>(of_jobs({}), machines));
    CHECK(std::isnan(none.mean_jct));
    CHECK(std::isnan(none.makespan));
    CHECK(std::isnan(none.restarts));
}

TEST_CASE("the time to a tier is over the jobs that reached it") {
    auto const machines = of_nodes(1, 3);
    auto const jobs = of_jobs({rigid(10, 1, 100), rigid(20, 1, 100), rigid(30, 1, 100)});
    auto ran = run<policies::fifo>(jobs, machines);
    ran.jobs[0].acceptable = seconds(40);
    ran.jobs[0].objective = seconds(60);
    ran.jobs[2].acceptable = seconds(40);
    auto const f = of(jobs, machines, ran);
    CHECK(f.mean_to_acceptable == Approx(20));
    CHECK(f.mean_to_objective == Approx(50));
}

TEST_CASE("the first wrong grant is kept with its tick, rule and job, and the run goes on or stops") {
    auto const jobs = of_jobs({rigid(0, 1, 100), rigid(30, 1, 10)});
    for (bool const stop : {false, true}) {
        auto const ran = run<greedy>(jobs, of_nodes(1, 2), {}, {.limit = seconds(200), .stop_at_bad_grant = stop});
        REQUIRE(ran.first_bad.has_value());
        CHECK(ran.first_bad->at == seconds(30));
        CHECK(ran.first_bad->job == 2);
        CHECK(ran.first_bad->row.amount == 9);
        CHECK(ran.first_bad->rule == check_rule::above_maximum);
        CHECK((ran.jobs[0].finished.count >= 0) == !stop);
        CHECK((ran.how == ending::bad_grant) == stop);
    }
}

TEST_CASE("Jain's index is 1 for equals and 1/n when one has everything") {
    CHECK(jain_index({3, 3, 3}) == Approx(1));
    CHECK(jain_index({0, 5, 0, 0}) == Approx(0.25));
    CHECK(std::isnan(jain_index({})));
}

TEST_CASE("a quantile lies on the line between two values") {
    CHECK(quantile({1, 2, 10}, 0.5) == 2);
    CHECK(quantile({1, 2}, 0.5) == 1.5);
    CHECK(quantile({1, 2, 10}, 1) == 10);
    CHECK(quantile({7}, 0.99) == 7);
}

TEST_CASE("a series keeps its integral however often it is folded") {
    time_series series;
    std::minstd_rand rng(7);
    double whole = 0, value = 0;
    std::int64_t now = 0;
    for (int i = 0; i < 5000; ++i) {
        std::int64_t const next = now + static_cast<std::int64_t>(rng() % 40) * 100'000'000;
        whole += value * to_seconds({next - now});
        now = next;
        value = static_cast<double>(rng() % 64);
        series.set({now}, value);
    }
    auto const means = series.means({now});
    REQUIRE(means.size() > 200);
    REQUIRE(means.size() <= 600);
    double sum = 0, width = to_seconds(series.width());
    for (std::size_t i = 0; i < means.size(); ++i)
        sum += means[i] * std::min(width, to_seconds({now}) - static_cast<double>(i) * width);
    CHECK(sum == Approx(whole));
}

TEST_CASE("a series shows when something was") {
    time_series series;
    series.set(seconds(2), 10);
    series.set(seconds(3.5), 0);
    CHECK(series.means(seconds(4.5)) == std::vector<double>{0, 0, 10, 5, 0});
}

TEST_CASE("an observer hears of every submission, every change and every end") {
    struct listener final : run_observer {
        std::vector<std::string> received;
        void add(nanoseconds now, std::string what) {
            received.push_back(std::to_string(now.count / 1'000'000'000) + ' ' + what);
        }
        void submitted(nanoseconds now, std::uint64_t job) noexcept override {
            add(now, "submitted " + std::to_string(job));
        }
        void holds(nanoseconds now, std::uint64_t job, std::int64_t n) noexcept override {
            add(now, std::to_string(job) + " holds " + std::to_string(n));
        }
        void finished(nanoseconds now, std::uint64_t job) noexcept override {
            add(now, "finished " + std::to_string(job));
        }
    } listener;
    auto const jobs = of_jobs({rigid(0, 2, 100), rigid(10, 1, 5)});
    static_cast<void>(run<policies::srtf>(jobs, of_nodes(1, 2), {}, {.observer = &listener}));
    CHECK(listener.received == std::vector<std::string>{"0 submitted 1", "0 1 holds 2", "10 submitted 2",
                                                        "10 1 holds 0", "10 2 holds 1", "15 2 holds 0", "15 finished 2",
                                                        "15 1 holds 2", "105 1 holds 0", "105 finished 1"});
}

TEST_CASE("a distribution of times has quantiles within its error, and exact extremes and means") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        rng const random(seed, 1);
        time_distribution all, parts[2];
        std::vector<double> exact;
        std::size_t const number = seed == 1 ? 3 : 20'000;
        for (std::uint64_t i = 0; i < number; ++i) {
            // From nanoseconds to a year, with many equal times
            auto const ns = static_cast<std::int64_t>(std::exp(random.uniform(2 * i) * 38));
            nanoseconds const time{random.uniform(2 * i + 1) < 0.2 ? std::int64_t{3'000'000'000} : ns};
            all.add(time);
            parts[i % 2].add(time);
            exact.push_back(to_seconds(time));
        }
        std::sort(exact.begin(), exact.end());
        parts[0].add(parts[1]);
        CHECK(all.size() == number);
        CHECK(all.mean() == Approx(mean_of(exact)).epsilon(1e-12));
        CHECK(all.quantile(0) == exact.front());
        CHECK(all.quantile(1) == exact.back());
        for (int i = 0; i <= 1000; ++i) {
            double const right = quantile(exact, i / 1000.0), got = all.quantile(i / 1000.0);
            CHECK(std::abs(got - right) <= right * time_distribution::error * (1 + 1e-9));
            CHECK(parts[0].quantile(i / 1000.0) == got);
        }
    }
    CHECK(std::isnan(time_distribution().quantile(0.5)));
    CHECK(std::isnan(time_distribution().mean()));
}

namespace {

/// Compares the figures of a stream with those of all jobs.
template <class Policy>
void check_streamed_figures(generator_options const& how, sim_options options) {
    auto const machines = of_nodes(8, 4);
    rigid_options const only{.most_devices = 8, .longest = 20'000};
    auto const jobs = make_rigid(how, only);
    auto const exact = of(jobs, machines, run<Policy>(jobs, machines, {}, options));
    rigid_source source(how, only);
    streamed_summary summary(source.kinds(), machines);
    policy_adapter<Policy> policy;
    policy_adapter<policies::none> fallback;
    options.observer = &summary;
    auto const ran = simulation(source, machines, policy, fallback, options).run();
    REQUIRE(ran);
    auto const got = summary.result(*ran);
    CHECK(got.finished == exact.finished);
    CHECK(got.stops == exact.stops);
    CHECK(got.faults == exact.faults);
    double figures::* const rounded[] = {
        &figures::mean_jct,  &figures::worst_jct, &figures::mean_wait, &figures::makespan,  &figures::utilisation,
        &figures::lost_work, &figures::jain,      &figures::mean_rho,  &figures::worst_rho, &figures::unfair};
    for (auto const figure : rounded) CHECK(got.*figure == Approx(exact.*figure).epsilon(1e-9));
    double figures::* const quantiles[] = {&figures::median_jct, &figures::p95_jct, &figures::p99_jct,
                                           &figures::p99_wait};
    for (auto const figure : quantiles) CHECK(got.*figure == Approx(exact.*figure).epsilon(time_distribution::error));
    if (exact.finished < exact.jobs) return;  // the stream does not count jobs that have not arrived
    CHECK(got.jobs == exact.jobs);
    CHECK(got.restarts == Approx(exact.restarts).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the figures of a stream are those of all jobs, within the error of its quantiles") {
    std::vector<fault> const faults{{.at = seconds(7000), .what = fault_kind::node_lost, .node = 1},
                                    {.at = seconds(9000), .what = fault_kind::node_back, .node = 1}};
    generator_options const how{.jobs = 1500, .jobs_per_hour = 60, .arrivals = arrival_pattern::diurnal};
    check_streamed_figures<policies::fifo>(how, {.faults = faults, .checkpoint = seconds(600)});
    check_streamed_figures<policies::las>(how, {.faults = faults, .checkpoint = seconds(600)});
    check_streamed_figures<policies::las>(how, {.limit = seconds(30'000)});
}
