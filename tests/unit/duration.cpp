// SPDX-License-Identifier: BSL-1.0
// The estimator of lengths by the times of ended jobs.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <ration/estimators/duration.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using Catch::Approx;
using ration::estimators::duration;

namespace {

/// Jobs of tenant 0 that request 2 devices, make 4 steps/s there, and have no target.
struct timed_jobs {
    host on;
    ration::column<std::int64_t> request = must(on.store.declare<std::int64_t>("jobs/request.gpu"));
    ration::column<double> attained = must(on.store.declare<double>("jobs/attained")),
                           nominal = must(on.store.declare<double>("jobs/nominal_steps_per_second")),
                           target = must(on.store.declare<double>("jobs/loss.target")),
                           reported = must(on.store.declare<double>("jobs/total_steps.reported"));
    ration::estimator_adapter<duration> estimator;

    explicit timed_jobs(std::size_t jobs) : on(jobs) {
        for (std::size_t row = 0; row < jobs; ++row) {
            on.store.at(request, row) = 2;
            on.store.at(nominal, row) = 4;
            on.store.at(target, row) = std::numeric_limits<double>::quiet_NaN();
        }
        must(estimator.bind(on.store, {.jobs = jobs, .nodes = 1}));
    }
    /// The job has run for so long on its requested devices.
    void run(std::size_t row, double seconds) {
        on.store.at(attained, row) = seconds * static_cast<double>(on.store.at(request, row));
    }
    void end(std::size_t row, double seconds, job_state how = job_state::done) {
        run(row, seconds);
        on.set_state(row, how);
    }
    /// The jobs from `first` on end after these times.
    void end_all(std::size_t first, std::vector<double> const& times) {
        for (double const seconds : times) end(first++, seconds);
    }
    double estimate(std::size_t row) {
        estimator.estimate({.data = on.store.view()}, on.store);
        return on.store[must(on.store.find<double>("jobs/total_steps"))][row];
    }
};

}  // namespace

TEST_CASE("duration: unknown until five jobs have ended, then the mean of those that took longer", "[estimator]") {
    timed_jobs jobs(6);
    jobs.end_all(1, {10, 20, 30, 40});
    CHECK(std::isnan(jobs.estimate(0)));
    jobs.end(5, 50);
    CHECK(jobs.estimate(0) == Approx(4 * 150 / 6.0));  // one more job counts that takes twice 0 s
    jobs.run(0, 25);
    jobs.on.store[jobs.on.columns.step][0] = 100;
    CHECK(jobs.estimate(0) == Approx(100 + 4 * ((30 + 40 + 50 + 2 * 25) / 4.0 - 25)));
    jobs.run(0, 80);
    CHECK(jobs.estimate(0) == Approx(100 + 4 * 80));  // longer than all: as long again
}

TEST_CASE("duration: the narrowest class of five ended jobs counts", "[estimator]") {
    timed_jobs jobs(18);
    auto const tenant = jobs.on.columns.tenant;
    jobs.end_all(3, {1, 1, 1, 1, 1});  // of tenant 0, on 2 devices
    for (std::size_t row = 8; row < 13; ++row) jobs.on.store[tenant][row] = 1;
    jobs.end_all(8, {600, 600, 600, 600, 600});
    for (std::size_t row = 13; row < 18; ++row) jobs.on.store.at(jobs.request, row) = 8;
    jobs.end_all(13, {3000, 3000, 3000, 3000, 3000});
    CHECK(jobs.estimate(0) == Approx(4 * 5 / 6.0));
    jobs.on.store[tenant][1] = 7;  // has no ended job: all tenants on 2 devices
    CHECK(jobs.estimate(1) == Approx(4 * 3005 / 11.0));
    jobs.on.store.at(jobs.request, 2) = 5;  // no other job has 5 devices: all jobs
    CHECK(jobs.estimate(2) == Approx(4 * 18005 / 16.0));
}

TEST_CASE("duration: a reported number, a target, and a job without devices need no distribution", "[estimator]") {
    timed_jobs jobs(9);
    jobs.end_all(4, {10, 10, 10, 10, 10});
    jobs.on.store.at(jobs.reported, 0) = 77;
    CHECK(jobs.estimate(0) == 77);
    jobs.on.store.at(jobs.target, 1) = 0.5;
    CHECK(std::isnan(jobs.estimate(1)));
    jobs.on.store.at(jobs.request, 2) = 0;
    CHECK(std::isnan(jobs.estimate(2)));
    jobs.on.store.at(jobs.nominal, 3) = std::nan("");
    CHECK(std::isnan(jobs.estimate(3)));
    jobs.on.store[jobs.on.columns.step][4] = 41;  // done: all of its steps
    CHECK(jobs.estimate(4) == 41);
}

TEST_CASE("duration: a job counts once, and neither a failed one nor one without time", "[estimator]") {
    timed_jobs jobs(7);
    jobs.end_all(1, {10, 10, 10, 10});
    for (int tick = 0; tick < 3; ++tick) CHECK(std::isnan(jobs.estimate(0)));
    jobs.end(5, 10, job_state::failed);
    jobs.end(6, 0);
    CHECK(std::isnan(jobs.estimate(0)));
}

TEST_CASE("duration: the newest 512 ended jobs count", "[estimator]") {
    ration::estimators::detail::ended_jobs ended;
    ended.reserve();
    auto const add = [&](std::uint32_t tenant, double seconds, std::size_t times) {
        for (std::size_t i = 0; i < times; ++i) ended.add({tenant, 1}, seconds);
    };
    add(0, 1000, 512);
    add(1, 10, 507);
    CHECK(ended.rest({0, 1}, 0) == Approx(5000 / 6.0));
    add(1, 10, 1);  // four of tenant 0 are left: all tenants on one device
    CHECK(ended.rest({0, 1}, 0) == Approx((4000 + 5080) / 513.0));
    CHECK(ended.size() == 512);
}

TEST_CASE("duration: saved state is refused as a whole if it is damaged", "[estimator]") {
    timed_jobs jobs(6);
    jobs.end_all(1, {10, 20, 30, 40, 50});
    duration saved;
    REQUIRE(saved.prepare({.jobs = 6, .nodes = 1}) == ration::status::ok);
    std::vector<std::byte> state(saved.save({}));
    REQUIRE(saved.save(state) == state.size());
    CHECK(saved.load(state) == ration::status::ok);
    state.push_back({});
    CHECK(saved.load(state) == ration::status::state);
    state.assign(8, std::byte{0xFF});  // more jobs than are remembered
    CHECK(saved.load(state) == ration::status::state);
}

TEST_CASE("duration keeps the laws of an Estimator", "[laws][estimator]") {
    auto const fill = [](ration::snapshot_store& store, std::uint64_t tick) {
        auto const reported = must(store.declare<double>("jobs/total_steps.reported"));
        auto const target = must(store.find<double>("jobs/loss.target"));
        auto const ids = must(store.find<std::uint64_t>("jobs/id"));
        auto const state = must(store.find<std::uint32_t>("jobs/state"));
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            store[reported][row] = 0;
            store[target][row] = std::nan("");
            if (store[ids][row] % 3 == 0 && tick > 20) store[state][row] = static_cast<std::uint32_t>(job_state::done);
        }
    };
    auto const kept =
        ration::testing::estimator_laws([] { return duration{}; }, {.fill = fill, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}
