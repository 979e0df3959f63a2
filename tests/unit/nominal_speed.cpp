// SPDX-License-Identifier: BSL-1.0
// The estimator of the speed on the requested devices.
#include <cmath>
#include <cstdint>

#include <ration/estimators/nominal_speed.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::estimators::nominal_speed;

namespace {

/// One job that requests 4 devices.
struct measured_devices {
    host on{1};
    ration::column<std::int64_t> request = must(on.store.declare<std::int64_t>("jobs/request.gpu"));
    ration::column<double> target = must(on.store.declare<double>("jobs/loss.target")),
                           reported = must(on.store.declare<double>("jobs/total_steps.reported"));
    ration::estimator_adapter<nominal_speed> estimator;

    measured_devices() {
        on.store.at(request, 0) = 4;
        on.store.at(target, 0) = 0.5;
        must(estimator.bind(on.store, {.jobs = 1, .nodes = 1}));
    }
    double estimate(std::int64_t held, double steps_per_second) {
        on.store[on.of(resource_id::gpu).held][0] = held;
        on.store[on.columns.measured_steps_per_second][0] = steps_per_second;
        estimator.estimate({.data = on.store.view()}, on.store);
        return on.store[must(on.store.find<double>("jobs/nominal_steps_per_second"))][0];
    }
};

}  // namespace

TEST_CASE("nominal_speed: unknown until a speed is measured, and kept while the job waits", "[estimator]") {
    measured_devices job;
    CHECK(std::isnan(job.estimate(0, 0)));
    CHECK(std::isnan(job.estimate(4, 0)));
    CHECK(job.estimate(4, 12) == 12);
    CHECK(job.estimate(0, 12) == 12);
    CHECK(job.estimate(0, 0) == 12);
    CHECK(job.estimate(4, 14) == 14);
}

TEST_CASE("nominal_speed: on other devices in proportion, until the requested ones have been measured", "[estimator]") {
    measured_devices job;
    CHECK(job.estimate(2, 5) == 10);
    CHECK(job.estimate(1, 3) == 12);
    CHECK(job.estimate(4, 9) == 9);
    CHECK(job.estimate(2, 5) == 9);
}

TEST_CASE("nominal_speed: a job of which only the time can be known has 1 step/s until one is measured",
          "[estimator]") {
    measured_devices job;
    job.on.store.at(job.target, 0) = std::nan("");
    CHECK(job.estimate(0, 0) == 1);
    CHECK(job.estimate(4, 0) == 1);
    job.on.store.at(job.reported, 0) = 100;
    CHECK(std::isnan(job.estimate(4, 0)));
    job.on.store.at(job.reported, 0) = 0;
    CHECK(job.estimate(2, 5) == 10);
}

TEST_CASE("nominal_speed keeps the laws of an Estimator", "[laws][estimator]") {
    auto const fill = [](ration::snapshot_store& store, std::uint64_t) {
        auto const reported = must(store.declare<double>("jobs/total_steps.reported"));
        auto const target = must(store.find<double>("jobs/loss.target"));
        for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
            store[reported][row] = row % 2 == 0 ? 0 : 100;
            if (row % 4 == 0) store[target][row] = std::nan("");
        }
    };
    auto const kept =
        ration::testing::estimator_laws([] { return nominal_speed{}; }, {.fill = fill, .allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}
