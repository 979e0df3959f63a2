// SPDX-License-Identifier: BSL-1.0
// The estimator of what jobs wait for. Measured speeds: bench/data/cm-dare/speed_by_workers.csv.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ration/estimators/bottleneck.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::estimators::bottleneck;
using ration::estimators::bottleneck_kind;

namespace {

/// One job whose measurements are constant within a window.
struct measured_job {
    host on{1};
    ration::column<double> throttled = must(on.store.declare<double>("jobs/throttled.cpu"));
    ration::column<std::int64_t> workers = must(on.store.declare<std::int64_t>("jobs/workers")),
                                 batch = must(on.store.declare<std::int64_t>("jobs/batch.reported"));
    ration::estimator_adapter<bottleneck> estimator;
    std::uint64_t step = 1;
    ration::nanoseconds now{0};
    double speed = 1;  // steps/s

    measured_job() {
        on.set_bounds(0, resource_id::cpu, 0, 2000);
        on.set_capacity(resource_id::cpu, 4000);
        must(estimator.bind(on.store, {.jobs = 1, .nodes = 1}));
    }
    void use(double millicores, std::int64_t limit, double stopped = 0) {
        on.store[on.of(resource_id::cpu).used][0] = millicores;
        on.store[on.of(resource_id::cpu).held][0] = limit;
        on.store.at(throttled, 0) = stopped;
    }
    void run_on(std::int64_t devices, double steps_per_second) {
        on.store.at(workers, 0) = devices;
        speed = steps_per_second;
    }
    void set_batch(std::int64_t samples) { on.store.at(batch, 0) = samples; }
    bottleneck_kind tick() {
        on.store[on.columns.step][0] = step;
        estimator.estimate({.now = now, .data = on.store.view()}, on.store);
        return static_cast<bottleneck_kind>(on.store[must(on.store.find<std::uint32_t>("jobs/bottleneck"))][0]);
    }
    /// After this number of further measurements.
    bottleneck_kind after(int measurements) {
        bottleneck_kind seen{};
        for (int i = 0; i < measurements; ++i, ++step) {
            now = now + ration::seconds(1 / speed);
            seen = tick();
        }
        return seen;
    }
};

/// The bottleneck of a job with this many ticks of 250 ms in each step.
[[nodiscard]] bottleneck_kind after_long_steps(measured_job& job, std::int64_t devices, int ticks_of_step) {
    bottleneck_kind seen{};
    for (int tick = 0; tick < 20 * ticks_of_step; ++tick) {
        if (tick % ticks_of_step == 0) ++job.step;
        job.now = job.now + ration::milliseconds(250);
        job.run_on(devices, 4.0 / ticks_of_step);
        job.use(tick % ticks_of_step, ration::unlimited);  // each tick shows another value
        seen = job.tick();
        CHECK(job.tick() == seen);  // asked again
    }
    return seen;
}

/// Medians in steps/s of 1, 2, ... workers.
constexpr std::array k80_resnet_15{9.889, 18.861, 28.395, 37.803, 46.917, 57.358, 64.354, 75.668};
constexpr std::array p100_resnet_15{21.077, 46.762, 62.052, 78.425, 91.969, 95.424, 95.743, 104.846};

/// The numbers of workers that are flagged after two windows each.
[[nodiscard]] std::vector<int> flagged(std::span<double const> speeds) {
    measured_job job;
    std::vector<int> found;
    for (std::size_t w = 1; w <= speeds.size(); ++w) {
        job.run_on(static_cast<std::int64_t>(w), speeds[w - 1]);
        if (job.after(17) == bottleneck_kind::exchange) found.push_back(static_cast<int>(w));
    }
    return found;
}

}  // namespace

TEST_CASE("bottleneck: of CM-DARE's curves the P100 is flagged from its saturation on, and the K80 never",
          "[estimator]") {
    CHECK(flagged(p100_resnet_15) == std::vector{5, 6, 7, 8});
    CHECK(flagged(k80_resnet_15).empty());
}

TEST_CASE("bottleneck: two windows in a row decide, by their medians, and a change starts another one", "[estimator]") {
    measured_job job;
    job.use(1900, 2000, 0.5);
    CHECK(job.after(16) == bottleneck_kind::none);
    CHECK(job.after(1) == bottleneck_kind::throttled);
    job.use(1900, 2000);
    CHECK(job.after(3) == bottleneck_kind::throttled);  // 3 of 7 measurements are no median
    job.use(1900, 2000, 0.5);
    CHECK(job.after(4) == bottleneck_kind::throttled);
    job.use(1900, 2000);
    CHECK(job.after(13) == bottleneck_kind::throttled);
    CHECK(job.after(1) == bottleneck_kind::none);
    job.use(1900, 2000, 0.5);
    CHECK(job.after(14) == bottleneck_kind::throttled);
    job.run_on(1, 5);
    CHECK(job.after(1) == bottleneck_kind::none);
    CHECK(job.after(15) == bottleneck_kind::none);
    CHECK(job.after(1) == bottleneck_kind::throttled);
}

TEST_CASE("bottleneck: only a job's own limit throttles it, for more than a tenth of the time", "[estimator]") {
    measured_job own, of_policy, rarely;
    own.use(2000, ration::unlimited, 0.11);
    of_policy.use(1000, 1999, 0.5);
    rarely.use(2000, 2000, 0.09);
    CHECK(own.after(17) == bottleneck_kind::throttled);
    CHECK(of_policy.after(17) == bottleneck_kind::none);
    CHECK(rarely.after(17) == bottleneck_kind::none);
}

TEST_CASE("bottleneck: the CPU of devices, and not a job's own limit, stops a job that does not use that",
          "[estimator]") {
    measured_job devices, own, unlimited;
    for (auto* const job : {&devices, &own}) job->run_on(1, 5);
    devices.on.set_bounds(0, resource_id::cpu, 0, ration::unlimited);
    devices.use(250, 0, 0.7);
    CHECK(devices.after(17) == bottleneck_kind::none);
    devices.on.set_bounds(0, resource_id::cpu, 0, 1000);
    CHECK(devices.after(17) == bottleneck_kind::none);
    own.use(1900, 0, 0.2);
    CHECK(own.after(17) == bottleneck_kind::throttled);
    unlimited.on.set_bounds(0, resource_id::cpu, 0, ration::unlimited);
    unlimited.use(1000, 0, 0.5);
    CHECK(unlimited.after(17) == bottleneck_kind::none);
}

TEST_CASE("bottleneck: a job without devices waits for input where it leaves a tenth of its cores", "[estimator]") {
    measured_job idle, busy, limited, lower;
    idle.use(890, 2000);
    busy.use(910, 2000);
    limited.use(460, 500);
    CHECK(idle.after(17) == bottleneck_kind::input);
    CHECK(busy.after(17) == bottleneck_kind::none);
    CHECK(limited.after(17) == bottleneck_kind::none);
    lower.use(1800, 2000);
    CHECK(lower.after(17) == bottleneck_kind::none);
    lower.use(1500, 2000);  // it has used more
    CHECK(lower.after(14) == bottleneck_kind::input);
    idle.run_on(1, 5);  // on a device nothing follows from the use of CPU
    CHECK(idle.after(17) == bottleneck_kind::none);
}

TEST_CASE("bottleneck: a job waits for others, and not for input, where the machine has no CPU to spare",
          "[estimator]") {
    measured_job job;
    job.use(500, 2000);
    job.on.set_capacity(resource_id::cpu, 999);
    CHECK(job.after(17) == bottleneck_kind::none);
    job.on.set_capacity(resource_id::cpu, 1000);
    CHECK(job.after(14) == bottleneck_kind::input);
}

TEST_CASE("bottleneck: the steps of a job may be longer than a tick, and it may return to an earlier one",
          "[estimator]") {
    measured_job scales, waits;
    for (int ticks : {8, 4, 2}) CHECK(after_long_steps(scales, 8 / ticks, ticks) == bottleneck_kind::none);
    CHECK(after_long_steps(waits, 1, 8) == bottleneck_kind::none);
    CHECK(after_long_steps(waits, 2, 5) == bottleneck_kind::exchange);  // 8 / 5 of the speed of one
    waits.step = 3;                                                     // of its checkpoint
    CHECK(after_long_steps(waits, 2, 5) == bottleneck_kind::exchange);
    CHECK(after_long_steps(waits, 2, 4) == bottleneck_kind::none);
}

TEST_CASE("bottleneck: the speed of a job whose batch grows with its devices is in samples", "[estimator]") {
    measured_job grows, waits, steps;
    for (auto* const job : {&grows, &waits}) job->set_batch(128);
    for (auto* const job : {&grows, &waits, &steps}) {
        job->run_on(1, 10);
        CHECK(job->after(17) == bottleneck_kind::none);
    }
    for (auto* const job : {&grows, &waits}) job->set_batch(256);
    grows.run_on(2, 9.1);
    waits.run_on(2, 8.9);
    steps.run_on(2, 10);
    CHECK(grows.after(17) == bottleneck_kind::none);
    CHECK(waits.after(17) == bottleneck_kind::exchange);
    CHECK(steps.after(17) == bottleneck_kind::exchange);
}

TEST_CASE(
    "bottleneck: a job that gets less CPU for each device, from a machine without more, does not wait for exchange",
    "[estimator]") {
    measured_job job;
    job.on.set_capacity(resource_id::cpu, 1000);
    job.use(500, ration::unlimited);
    job.run_on(1, 10);
    CHECK(job.after(17) == bottleneck_kind::none);
    job.on.set_capacity(resource_id::cpu, 999);
    job.use(600, ration::unlimited);
    job.run_on(2, 12);
    CHECK(job.after(17) == bottleneck_kind::none);
    job.on.set_capacity(resource_id::cpu, 1000);
    CHECK(job.after(14) == bottleneck_kind::exchange);
    job.on.set_capacity(resource_id::cpu, 910);
    job.use(910, ration::unlimited);  // it gets its CPU
    CHECK(job.after(14) == bottleneck_kind::exchange);
}

TEST_CASE("bottleneck: a job that makes no step, or does not run, shows none", "[estimator]") {
    measured_job job;
    job.use(100, 2000);
    for (int i = 0; i < 40; ++i) CHECK(job.tick() == bottleneck_kind::none);
    CHECK(job.after(18) == bottleneck_kind::input);
    job.on.set_state(0, job_state::queued);
    CHECK(job.tick() == bottleneck_kind::none);
}

TEST_CASE("bottleneck keeps the laws of an Estimator", "[laws][estimator]") {
    auto const fill = [](ration::snapshot_store& store, std::uint64_t tick) {
        auto const throttled = must(store.declare<double>("jobs/throttled.cpu"));
        auto const workers = must(store.declare<std::int64_t>("jobs/workers"));
        auto const batch = must(store.declare<std::int64_t>("jobs/batch.reported"));
        auto const ids = must(store.find<std::uint64_t>("jobs/id"));
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            store[throttled][row] = store[ids][row] % 3 == 0 ? 0.3 : 0;
            store[workers][row] = static_cast<std::int64_t>(store[ids][row] % 4 + tick / 64 % 2);
            store[batch][row] = static_cast<std::int64_t>(store[ids][row] % 2 * 64);
        }
    };
    auto const kept =
        ration::testing::estimator_laws([] { return bottleneck{}; }, {.fill = fill, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}
