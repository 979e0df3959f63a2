// SPDX-License-Identifier: BSL-1.0
#include "instances.hpp"
#include "support/catch.hpp"

using namespace sim_program;

namespace {

struct instances {
    std::minstd_rand rng;
    explicit instances(unsigned seed) : rng(seed) {}
    [[nodiscard]] double upto(double most) { return most * static_cast<double>(rng() % 10000 + 1) / 10000; }
    [[nodiscard]] std::int64_t whole(std::int64_t most) { return static_cast<std::int64_t>(rng()) % most + 1; }

    [[nodiscard]] workload rigid_jobs(std::int64_t devices) {
        std::vector<job_description> jobs;
        double at = 0;
        for (std::int64_t i = 0, n = whole(12); i < n; ++i) {
            at += whole(3) == 1 ? 0 : upto(100);
            jobs.push_back(
                rigid(at, std::min(devices, std::int64_t{1} << (whole(4) - 1)), upto(whole(5) == 1 ? 3000 : 100)));
            if (whole(2) == 1) jobs.back().restart_cost = upto(20);
        }
        return of_jobs(std::move(jobs));
    }

    [[nodiscard]] workload elastic_jobs(std::int64_t devices) {
        auto made = rigid_jobs(devices);
        made.models = {std::make_shared<bending_model>(0.3 + upto(0.7))};
        for (auto& job : made.jobs) {
            job.least = whole(job.request);
            job.most = std::min(devices, job.request + whole(devices));
            job.restart_cost /= 10;  // chance takes devices away again every half minute
        }
        return made;
    }
};

}  // namespace

TEST_CASE("no policy for rigid jobs beats the bounds") {
    for (unsigned seed = 1; seed <= 700; ++seed) {
        instances made(seed);
        auto const machines = of_nodes(static_cast<std::size_t>(made.whole(3)), 8);
        auto const jobs = made.rigid_jobs(8);
        auto const least = limits_of(jobs, machines);
        CAPTURE(seed);
        REQUIRE(beaten(least, jobs, machines, run<policies::fifo>(jobs, machines)).empty());
        REQUIRE(beaten(least, jobs, machines, run<policies::sjf>(jobs, machines)).empty());
        REQUIRE(beaten(least, jobs, machines, run<policies::srtf>(jobs, machines)).empty());
        REQUIRE(beaten(least, jobs, machines, run<policies::las>(jobs, machines)).empty());
    }
}

TEST_CASE("no shares for elastic jobs beat the bounds") {
    for (unsigned seed = 1; seed <= 1500; ++seed) {
        instances made(seed);
        std::int64_t const devices = made.whole(8) + 7;
        auto const machines = of_nodes(1, devices);
        auto const jobs = made.elastic_jobs(devices);
        auto const least = limits_of(jobs, machines);
        CAPTURE(seed);
        REQUIRE(beaten(least, jobs, machines,
                       run<random_shares>(jobs, machines, {}, {.interval = seconds(30), .seed = seed})) == "");
    }
}

TEST_CASE("what a job needs, by hand") {
    auto jobs = of_jobs({rigid(0, 4, 100)});
    jobs.jobs[0].restart_cost = 20;
    auto const needs = needs_of(jobs, of_nodes(1, 8))[0];
    CHECK(needs.seconds == Approx(120));
    CHECK(needs.work == Approx(480));
    CHECK(needs.after == Approx(60));
    CHECK_FALSE(needs_of(jobs, of_nodes(1, 2))[0].possible());
}

TEST_CASE("what an elastic job needs, by hand: fast with all devices, thrifty with one") {
    auto jobs = of_jobs({{.request = 1, .least = 1, .most = 16, .length = 400, .restart_cost = 10}});
    jobs.models = {std::make_shared<bending_model>(1)};  // 200 steps at 4 per second, 200 at 2
    auto const machines = of_nodes(2, 2);
    auto const needs = needs_of(jobs, machines)[0];
    CHECK(needs.seconds == Approx(10 + 50 + 100));
    CHECK(needs.work == Approx(10 + 200 + 200));
    CHECK(needs.after == Approx((10 * (150 + 5) + 200 * (100 + 25) + 200 * 50) / 410.0));
    needs_reader reader(jobs, machines);
    CHECK(reader.seconds_with(jobs.jobs[0], 4) == Approx(160));
    CHECK(reader.seconds_with(jobs.jobs[0], 1) == Approx(10 + 200 + 200));
    CHECK(reader.seconds_with(jobs.jobs[0], 0.5) == Approx(10 + 400 + 400));
}

TEST_CASE("the bounds are reached where a schedule reaches them") {
    auto const one = of_nodes(1, 1), two = of_nodes(1, 2);
    SECTION("one device: the shortest remaining first") {
        auto const jobs = of_jobs({rigid(0, 1, 10), rigid(2, 1, 3), rigid(4, 1, 1)});  // done at 14, 5, 6
        CHECK(limits_of(jobs, one).mean_jct == Approx((14 + 3 + 2) / 3.0));
        CHECK(limits_of(jobs, one).makespan == Approx(14));
    }
    SECTION("four jobs of one length on two devices: two at a time") {
        auto const jobs = of_jobs({rigid(0, 1, 10), rigid(0, 1, 10), rigid(0, 1, 10), rigid(0, 1, 10)});
        CHECK(limits_of(jobs, two).mean_jct == Approx(15));
        CHECK(limits_of(jobs, two).makespan == Approx(20));
    }
    SECTION("jobs that never meet: each alone") {
        auto const jobs = of_jobs({rigid(5, 1, 10), rigid(100, 2, 20)});
        CHECK(limits_of(jobs, two).mean_jct == Approx(15));
        CHECK(limits_of(jobs, two).makespan == Approx(115));
    }
    SECTION("a long job on one device decides the makespan, whatever the others do") {
        auto const jobs = of_jobs({rigid(0, 1, 100), rigid(0, 1, 10), rigid(30, 1, 5)});
        CHECK(limits_of(jobs, two).makespan == Approx(100));
    }
    SECTION("work that comes late decides the makespan") {
        auto const jobs = of_jobs({rigid(0, 1, 1), rigid(50, 2, 10), rigid(50, 2, 10)});
        CHECK(limits_of(jobs, two).makespan == Approx(70));
    }
    SECTION("nothing at all") { CHECK(limits_of(of_jobs({}), two).jobs == 0); }
    SECTION("a job for which the cluster is too small is in no bound") {
        auto const jobs = of_jobs({rigid(0, 4, 1000), rigid(0, 1, 10)});
        CHECK(limits_of(jobs, two).jobs == 1);
        CHECK(limits_of(jobs, two).mean_jct == Approx(10));
    }
}
