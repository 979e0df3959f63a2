// SPDX-License-Identifier: BSL-1.0
// The estimator of speeds by number of devices.
#include <cmath>
#include <cstdint>
#include <limits>
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
                           fixed = must(on.store.declare<double>("jobs/goodput.fixed", 2 * counts)),
                           attained = must(on.store.declare<double>("jobs/attained"));
    ration::estimator_adapter<speed> estimator;
    std::uint64_t step = 0;
    double now = 0;
    std::size_t row = 0;  // of the job that runs

    explicit measured(std::size_t jobs = 1) : on(jobs) { must(estimator.bind(on.store, {.jobs = jobs, .nodes = 1})); }

    /// A tick one second later, after further steps.
    void tick(std::int64_t held, double per_second, double used = -1) {
        ++step;
        pass(1, held, per_second, used);
    }
    /// A tick that much later, after the steps so far.
    void pass(double seconds, std::int64_t held, double per_second = 0, double used = -1) {
        now += seconds;
        on.store[on.columns.step][row] = step;
        on.store[on.of(resource_id::gpu).held][row] = held;
        on.store[on.of(resource_id::gpu).used][row] = used < 0 ? static_cast<double>(held) : used;
        on.store[on.columns.measured_steps_per_second][row] = per_second;
        on.store[attained][row] += seconds * on.store[on.of(resource_id::gpu).used][row];
        ask();
    }
    void ask() { estimator.estimate({.now = ration::seconds(now), .data = on.store.view()}, on.store); }
    /// The job gets these devices, and makes no step during that many seconds.
    void stands(std::int64_t held, double seconds) {
        pass(0, held);
        pass(seconds, held);
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

TEST_CASE("speed: each further device adds less, up to twice the devices that a job has had", "[estimator]") {
    measured job;
    job.tick(0, 0);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.runs(1, 4);
    CHECK(job.goodputs() == list{0, 4, 6.4, 6.4, 6.4});
    CHECK(job.speedups() == list{0, 1, 1.6, 1.6, 1.6});
    job.runs(2, 6);
    CHECK(job.goodputs() == list{0, 4, 6, 7.8, 9.6});
    job.runs(4, 5);
    CHECK(job.goodputs() == list{0, 4, 6, 5.5, 5});
    CHECK(job.speedups() == list{0, 1, 1.5, 1.375, 1.25});
}

TEST_CASE("speed: below the fewest devices that were measured a job scales perfectly", "[estimator]") {
    measured job;
    job.runs(2, 6);
    CHECK(job.goodputs() == list{0, 3, 6, 7.8, 9.6});
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
    list const all{0, 3, 6, 7.8, 9.6, 0, 3, 6, 7.8, 9.6};
    CHECK(rounded(job.on.store[job.goodput]) == all);
    CHECK(rounded(job.on.store[job.fixed]) == all);
}

TEST_CASE("speed: a measurement counts after five seconds with the same devices, and a step", "[estimator]") {
    measured job;
    job.runs(1, 4);
    for (int i = 0; i < 5; ++i) job.tick(2, 1);  // the meter still has the time of the restart
    CHECK(job.goodputs() == list{0, 4, 6.4, 6.4, 6.4});
    job.tick(2, 8);
    CHECK(job.goodputs() == list{0, 4, 8, 10.4, 12.8});
    --job.step;
    job.tick(2, 2);  // no further step
    CHECK(job.goodputs() == list{0, 4, 8, 10.4, 12.8});
    job.tick(2, 4);  // the mean of 8 and 4
    CHECK(job.goodputs() == list{0, 4, 6, 7.8, 9.6});
}

TEST_CASE("speed: while a job still runs on its former devices, nothing is measured on the new ones", "[estimator]") {
    measured job;
    job.runs(1, 4);
    for (int i = 0; i < 20; ++i) job.tick(4, 4, 1);
    CHECK(job.goodputs() == list{0, 4, 6.4, 6.4, 6.4});
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

TEST_CASE("speed: a job without a step in ten minutes needs more devices", "[estimator]") {
    measured job;
    job.stands(1, 599);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.pass(1, 1);
    CHECK(job.goodputs() == list{0, 0, 1, 1, 1});
    CHECK(job.speedups() == list{0, 0, 1, 1, 1});
    job.pass(0, 0);
    CHECK(job.goodputs() == list{0, 0, 1, 1, 1});
    job.stands(3, 600);  // 1800 device-seconds
    CHECK(job.goodputs() == list{0, 0, 0, 0, 1});
    job.stands(2, 9000);  // the policy tried fewer
    CHECK(job.goodputs() == list{0, 0, 0, 0, 1});
    job.runs(4, 8);
    CHECK(job.goodputs() == list{0, 0, 0, 0, 8});
    CHECK(job.speedups() == list{0, 0, 0, 0, 4});
}

TEST_CASE("speed: a job that makes a step where it could not run does run there", "[estimator]") {
    measured job;
    job.stands(1, 600);
    job.stands(2, 600);
    job.pass(0, 0);
    job.pass(0, 2);
    job.tick(2, 0);
    CHECK(job.goodputs() == list{0, 0, 1, 1, 1});
    job.runs(2, 6);
    CHECK(job.goodputs() == list{0, 0, 6, 7.8, 9.6});
    job.pass(0, 1);
    job.tick(1, 0);
    CHECK(job.goodputs() == list{0, 3, 6, 7.8, 9.6});
}

TEST_CASE("speed: the ten minutes begin with the devices, and again with each step", "[estimator]") {
    measured job;
    job.stands(1, 500);
    job.stands(2, 500);
    job.stands(1, 500);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.tick(1, 0);
    job.pass(599, 1);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.pass(1, 1);
    CHECK(job.goodputs() == list{0, 0, 1, 1, 1});
}

TEST_CASE("speed: a job may take any time where it has run, and on all devices that it can have", "[estimator]") {
    measured job;
    job.stands(4, 9000);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.on.set_bounds(0, resource_id::gpu, 1, 3);
    job.stands(3, 9000);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.runs(2, 6);
    job.stands(2, 9000);
    CHECK(job.goodputs() == list{0, 3, 6, 7.8, 9.6});
    job.stands(1, 600);
    CHECK(job.goodputs() == list{0, 0, 6, 7.8, 9.6});
    job.tick(1, 0);  // it does run there
    CHECK(job.goodputs() == list{0, 3, 6, 7.8, 9.6});
}

TEST_CASE("speed: on more devices than those where a job runs, it makes at most one step in the time", "[estimator]") {
    measured job;
    job.runs(2, 6);
    job.stands(4, 599);
    CHECK(job.goodputs() == list{0, 3, 6, 7.8, 9.6});
    job.pass(1, 4);
    CHECK(job.goodputs() == list{0, 3, 6, 3.001, .002});
    job.pass(400, 4);
    CHECK(job.goodputs() == list{0, 3, 6, 3, .001});
    job.tick(4, 10);  // a measurement is the speed, not a part of a mean
    CHECK(job.goodputs() == list{0, 3, 6, 8, 10});
    job.stands(4, 9000);
    CHECK(job.goodputs() == list{0, 3, 6, 8, 10});
}

TEST_CASE("speed: a bound of the speed does not scale a given speedup", "[estimator]") {
    measured job;
    for (std::size_t k = 0; k < counts; ++k) job.on.store[job.given][k] = static_cast<double>(k);
    job.runs(2, 6);
    job.stands(4, 600);
    CHECK(job.goodputs() == list{0, 3, 6, 9, 12});
}

TEST_CASE("speed: a job of long steps is not taken for one that cannot run", "[estimator]") {
    measured job;
    job.stands(1, 600);
    job.stands(2, 600);
    CHECK(job.goodputs() == list{0, 0, 0, 1, 1});
    job.pass(0, 4);
    job.pass(299, 4);
    job.tick(4, .002);  // 1200 device-seconds: on two devices the step was not over yet
    CHECK(job.goodputs() == list{0, .001, .001, .002, .002});
    job.stands(1, 3999);  // twice the 2000 device-seconds of a step less one
    CHECK(job.goodputs() == list{0, .001, .001, .002, .002});
    job.pass(1, 1);
    CHECK(job.goodputs() == list{0, 0, .001, .002, .002});
}

TEST_CASE("speed: a change under way is no time without a step", "[estimator]") {
    measured job;
    job.pass(0, 2, 0, 1);
    job.pass(9000, 2, 0, 1);
    ++job.step;
    job.pass(1, 2, 0, 1);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
    job.pass(0, 2);
    CHECK(job.goodputs() == list{0, 1, 1, 1, 1});
}

TEST_CASE("speed: with more than eight numbers of devices the one not used for longest is forgotten", "[estimator]") {
    ration::estimators::detail::speed_history history;
    std::int64_t now = 0;
    std::uint64_t step = 0;
    auto const runs = [&](std::int64_t devices) {
        for (int i = 0; i < 7; ++i)
            history.see({.now = ration::seconds(static_cast<double>(++now)),
                         .step = ++step,
                         .devices = devices,
                         .per_second = static_cast<double>(devices)});
    };
    for (std::int64_t devices = 1; devices <= 9; ++devices) runs(devices);
    REQUIRE(history.points().size() == 8);
    CHECK(history.points().front().devices == 2);
    CHECK(history.points().back().devices == 9);
    runs(2);
    runs(1);
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
        auto const step = must(store.find<std::uint64_t>("jobs/step"));
        auto const attained = must(store.find<double>("jobs/attained"));
        auto const most = must(store.find<std::int64_t>("jobs/max.gpu"));
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            if (row % 4 == 0) {  // jobs that cannot run; a restart of the estimator is at a multiple of 16 ticks
                store[step][row] = 0;
                store[attained][row] = 50 * static_cast<double>(tick);
                store[held][row] = (tick + 8) % 32 < 16 ? 1 : 0;
                store[most][row] = 16;
            }
            store[used][row] = static_cast<double>(store[held][row]);
            for (std::size_t k = 0; k < given.width; ++k)
                (&store.at(given, row))[k] = row % 2 == 0 || tick < 100 ? 0.0 : static_cast<double>(k);
        }
    };
    auto const kept =
        ration::testing::estimator_laws([] { return speed{}; }, {.fill = fill, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}

TEST_CASE("speed: a job whose service is unknown is measured all the same", "[estimator]") {
    for (double const odd : {std::numeric_limits<double>::quiet_NaN(), -1.0, std::numeric_limits<double>::max()}) {
        measured job;
        job.on.store[job.attained][0] = odd;
        job.stands(1, 2000);
        job.runs(1, 4);
        CHECK(job.goodputs() == list{0, 4, 6.4, 6.4, 6.4});
    }
}

TEST_CASE("speed: a saved number of devices is an amount", "[speed]") {
    using ration::estimators::detail::speed_point;
    CHECK(speed_point{.devices = ration::max_amount, .per_second = 1}.sane());
    CHECK_FALSE(speed_point{.devices = ration::max_amount + 1, .per_second = 1}.sane());
}
