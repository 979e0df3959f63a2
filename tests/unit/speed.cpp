// SPDX-License-Identifier: BSL-1.0
// The estimator of speeds by number of devices.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ration/estimators/speed.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::estimators::speed;

namespace {

constexpr std::uint32_t counts = 5;

[[nodiscard]] std::vector<double> rounded(std::span<double const> values) {
    std::vector<double> all;
    for (double const v : values) all.push_back(std::round(v * 1000) / 1000);
    return all;
}

/// Jobs that can have up to 4 devices, on nodes of two types. All but one of them wait.
struct measured {
    host on;
    ration::column<double> given = must(on.store.declare<double>("jobs/speedup.given", counts)),
                           speedup = must(on.store.declare<double>("jobs/speedup", counts)),
                           goodput = must(on.store.declare<double>("jobs/goodput", 2 * counts)),
                           fixed = must(on.store.declare<double>("jobs/goodput.fixed", 2 * counts));
    ration::estimator_adapter<speed> estimator;
    std::uint64_t step = 0;
    double now = 0;
    std::size_t row = 0;  // of the job that runs

    explicit measured(std::size_t jobs = 1) : on(jobs) { must(estimator.bind(on.store, {.jobs = jobs, .nodes = 1})); }

    /// A tick one second later, after further steps.
    void tick(std::int64_t held, double per_second, double used = -1) {
        now += 1;
        on.store[on.columns.step][row] = ++step;
        on.store[on.of(resource_id::gpu).held][row] = held;
        on.store[on.of(resource_id::gpu).used][row] = used < 0 ? static_cast<double>(held) : used;
        on.store[on.columns.measured_steps_per_second][row] = per_second;
        estimator.estimate({.now = ration::seconds(now), .data = on.store.view()}, on.store);
    }
    /// The job runs for 20 s.
    void runs(std::int64_t held, double per_second) {
        for (int i = 0; i < 20; ++i) tick(held, per_second);
    }
    [[nodiscard]] std::vector<double> speedups() const { return rounded(on.store[speedup]); }
    [[nodiscard]] std::vector<double> goodputs() const { return rounded(on.store[goodput].first(counts)); }
};

using list = std::vector<double>;

}  // namespace

TEST_CASE("speed: a job scales perfectly up to twice the devices that it has had, and no further", "[estimator]") {
    measured job;
    job.tick(0, 0);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.runs(1, 4);
    CHECK(job.goodputs() == list{0, 4, 8, 8, 8});
    CHECK(job.speedups() == list{0, 1, 2, 2, 2});
    job.runs(2, 6);
    CHECK(job.goodputs() == list{0, 4, 6, 9, 12});
    job.runs(4, 5);
    CHECK(job.goodputs() == list{0, 4, 6, 5.5, 5});
    CHECK(job.speedups() == list{0, 1, 1.5, 1.375, 1.25});
}

TEST_CASE("speed: below the fewest devices that were measured a job scales perfectly", "[estimator]") {
    measured job;
    job.runs(2, 6);
    CHECK(job.goodputs() == list{0, 3, 6, 9, 12});
}

TEST_CASE("speed: before it is measured, a job is as fast as the fastest one per device", "[estimator]") {
    measured job(3);
    job.runs(2, 6);
    job.row = 1;
    job.runs(4, 8);
    CHECK(rounded(job.on.store[job.goodput]).at(2 * 2 * counts + 1) == 3);
}

TEST_CASE("speed: the estimate stays while a job waits, and all types and both batches get it", "[estimator]") {
    measured job;
    job.runs(2, 6);
    job.tick(0, 0);
    list const all{0, 3, 6, 9, 12, 0, 3, 6, 9, 12};
    CHECK(rounded(job.on.store[job.goodput]) == all);
    CHECK(rounded(job.on.store[job.fixed]) == all);
}

TEST_CASE("speed: a measurement counts after five seconds with the same devices, and a step", "[estimator]") {
    measured job;
    job.runs(1, 4);
    for (int i = 0; i < 5; ++i) job.tick(2, 1);  // the meter still has the time of the restart
    CHECK(job.goodputs() == list{0, 4, 8, 8, 8});
    job.tick(2, 8);
    CHECK(job.goodputs() == list{0, 4, 8, 12, 16});
    --job.step;
    job.tick(2, 2);  // no further step
    CHECK(job.goodputs() == list{0, 4, 8, 12, 16});
    job.tick(2, 4);  // the mean of 8 and 4
    CHECK(job.goodputs() == list{0, 4, 6, 9, 12});
}

TEST_CASE("speed: while a job still runs on its former devices, nothing is measured on the new ones", "[estimator]") {
    measured job;
    job.runs(1, 4);
    for (int i = 0; i < 20; ++i) job.tick(4, 4, 1);
    CHECK(job.goodputs() == list{0, 4, 8, 8, 8});
}

TEST_CASE("speed: a given speedup counts instead of the fit, at the measured speed", "[estimator]") {
    measured job;
    double const profile[counts] = {0, 1, 1.8, 0, 2.5};
    for (std::size_t k = 0; k < counts; ++k) job.on.store[job.given][k] = profile[k];
    job.tick(1, 4);
    CHECK(job.goodputs() == list{0, 1, 1.8, 0, 2.5});
    job.runs(2, 9);
    CHECK(job.speedups() == list{0, 1, 1.8, 0, 2.5});
    CHECK(job.goodputs() == list{0, 5, 9, 0, 12.5});
    job.runs(1, 4);  // 4 and 5 for one device
    CHECK(job.goodputs() == list{0, 4.5, 8.1, 0, 11.25});
}

TEST_CASE("speed: with more than eight numbers of devices the one not used for longest is forgotten", "[estimator]") {
    ration::estimators::detail::speed_history history;
    std::int64_t now = 0;
    std::uint64_t step = 0;
    for (std::int64_t devices = 1; devices <= 9; ++devices)
        for (int i = 0; i < 7; ++i) history.see(ration::seconds(++now), ++step, devices, static_cast<double>(devices));
    REQUIRE(history.points().size() == 8);
    CHECK(history.points().front().devices == 2);
    CHECK(history.points().back().devices == 9);
    for (int i = 0; i < 7; ++i) history.see(ration::seconds(++now), ++step, 2, 2);
    for (int i = 0; i < 7; ++i) history.see(ration::seconds(++now), ++step, 1, 1);
    CHECK((history.points()[0].devices == 1 && history.points()[1].devices == 2 && history.points()[2].devices == 4));
}

TEST_CASE("speed: a host without the vector columns is refused by their name", "[estimator]") {
    host on{1};
    ration::estimator_adapter<speed> estimator;
    auto const refused = estimator.bind(on.store, {.jobs = 1, .nodes = 1});
    REQUIRE(!refused);
    CHECK(refused.failure().code == ration::errc::not_found);
    CHECK(refused.failure().subject == "jobs/goodput");
    CHECK(std::string_view(refused.failure().remedy) ==
          "the host has no such vector column: declare it with its width");
}

TEST_CASE("speed keeps the laws of an Estimator", "[laws][estimator]") {
    auto const fill = [](ration::snapshot_store& store, std::uint64_t tick) {
        auto const given = must(store.declare<double>("jobs/speedup.given", 17));
        auto const used = must(store.find<double>("jobs/used.gpu"));
        auto const held = must(store.find<std::int64_t>("jobs/held.gpu"));
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            store[used][row] = static_cast<double>(store[held][row]);
            for (std::size_t k = 0; k < given.width; ++k)
                (&store.at(given, row))[k] = row % 2 == 0 || tick < 100 ? 0.0 : static_cast<double>(k);
        }
    };
    auto const kept =
        ration::testing::estimator_laws([] { return speed{}; }, {.fill = fill, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}
