// SPDX-License-Identifier: BSL-1.0
// Models of a few numbers: worked by hand.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ration/sim/cpu_model.hpp>
#include <ration/sim/parametric_model.hpp>

#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

namespace {

[[nodiscard]] data_parallel example() {
    return {.step_seconds = .1,
            .sample_seconds = .01,
            .gradient_bytes = 1e9,
            .node_bytes_per_second = 1e10,
            .link_bytes_per_second = 1e9,
            .hop_seconds = .001,
            .least_batch = 32,
            .most_batch = 256,
            .most_local_batch = 64,
            .type_speed = {1, 2}};
}
struct view {
    std::vector<double> goodput, fixed;
    std::vector<std::int64_t> batch;
    explicit view(std::size_t most) : goodput(most + 1, -1), fixed(most + 1, -1), batch(most + 1, -1) {}
    [[nodiscard]] scaling all() { return {goodput, fixed, batch}; }
};

}  // namespace

TEST_CASE("data parallel: processing and exchange add up", "[models]") {
    parametric_model const m(example());
    CHECK(m.rate(32, 1, false, 0) == Approx(32 / .42));
    CHECK(m.rate(128, 4, false, 0) == Approx(128 / (.1 + .32 + 1.5 * .1 + .006)));
    CHECK(m.rate(128, 4, true, 0) == Approx(128 / (.1 + .32 + 1.5 * 1 + .006)));
    CHECK(m.rate(128, 4, true, 1) == Approx(128 / (.21 + 1.5 + .006)));
    CHECK(m.rate(128, 4, true, 9) == m.rate(128, 4, true, 1));
    job_description const job{.batch = 128};
    std::vector<std::int32_t> const two{2, 2};
    CHECK(m.at(job, {.spread = two, .devices = 4}, 0).steps_per_second == m.rate(128, 4, true, 0));
    CHECK(m.at(job, {.spread = two, .devices = 4, .batch = 64}, 0).steps_per_second == m.rate(64, 4, true, 0));
    CHECK(m.at({}, {.spread = two, .devices = 4}, 0).steps_per_second == m.rate(32, 4, true, 0));
}

TEST_CASE("data parallel: batches and devices that do not go together have rate 0", "[models]") {
    parametric_model const m(example());
    CHECK(m.rate(31, 1, false, 0) == 0);
    CHECK(m.rate(257, 8, false, 0) == 0);
    CHECK(m.rate(65, 1, false, 0) == 0);
    CHECK(m.rate(64, 1, false, 0) > 0);
    CHECK(m.rate(64, 65, true, 0) == 0);
    CHECK(m.rate(64, 64, true, 0) > 0);
    CHECK(m.rate(64, 0, false, 0) == 0);
}

TEST_CASE("data parallel: what is shown is the best of all batches", "[models]") {
    parametric_model const m(example());
    job_description const job{.batch = 128};
    view v(12);
    m.show(job, 0, 1, 4, v.all());
    CHECK(v.goodput[0] == 0);
    CHECK(v.batch[0] == 0);
    for (std::int64_t k = 1; k <= 12; ++k) {
        auto const i = static_cast<std::size_t>(k);
        double best = 0;
        for (std::int64_t b = 1; b <= 300; ++b) best = std::max(best, m.rate(b, k, k > 4, 1));
        CHECK(v.goodput[i] == best);
        CHECK(v.goodput[i] == m.rate(v.batch[i], k, k > 4, 1));
        CHECK(v.fixed[i] == m.rate(128, k, k > 4, 1));
    }
    CHECK(v.fixed[1] == 0);  // 128 do not fit on one device
    data_parallel fixed = example();
    fixed.least_batch = fixed.most_batch = 128;
    parametric_model(fixed).show(job, 0, 0, 4, v.all());
    CHECK(v.goodput == v.fixed);
    CHECK(v.goodput[1] == 0);
    CHECK(v.goodput[2] > 0);
}

TEST_CASE("parameter servers: each worker adds its speed until they are the bottleneck", "[models]") {
    // K80 and P100 with ResNet-32 and one server: 44 from 4 workers on
    parameter_server_model const m({9.6, 11.4}, 44);
    CHECK(m.rate(0, 0) == 0);
    CHECK(m.rate(3, 1) == Approx(34.2));
    CHECK(m.rate(4, 1) == 44);
    CHECK(m.rate(8, 1) == 44);
    CHECK(m.rate(4, 0) == Approx(38.4));
    view v(4);
    m.show({.batch = 5}, 0, 1, 4, v.all());
    CHECK(v.goodput == v.fixed);
    CHECK(v.goodput[2] == Approx(22.8));
    CHECK(v.batch[2] == 5);
}

TEST_CASE("loss curves fall to their floor, and say when they reach a loss", "[models]") {
    loss_curve const c{.floor = .3, .power = 2, .power_steps = 10, .exponent = .5, .fast = 1, .fast_steps = 5};
    CHECK(c.at(0) == Approx(3.3));
    CHECK(c.at(30) == Approx(.3 + 2 * .5 + std::exp(-6)));
    double last = c.at(0);
    for (int s = 1; s < 5000; ++s) {
        REQUIRE(c.at(s) < last);
        last = c.at(s);
    }
    for (double const loss : {3.2, 2.0, 1.0, .5, .31}) CHECK(c.at(c.step_at(loss)) == Approx(loss).epsilon(1e-5));
    CHECK(c.at(c.step_at(.5)) <= .5);
    CHECK(c.step_at(4) == 0);
    CHECK(c.step_at(.3) == std::numeric_limits<double>::infinity());
    CHECK(c.step_at(0) == std::numeric_limits<double>::infinity());
    // Falls within the least step that a double can have
    loss_curve const cliff{.floor = .3, .power = 2, .power_steps = 1e-320};
    CHECK(cliff.step_at(.5) <= 1e-6);
    CHECK(cliff.at(cliff.step_at(.5)) <= .5);
}

TEST_CASE("a job on processors is as fast as its share, up to the cores that it can use", "[models]") {
    cpu_model const m({.floor = 1}, 50, 2, 0);
    auto const speed = [&](double cores) { return m.at({}, {.cores = cores}, 0).steps_per_second; };
    CHECK(speed(0) == 0);
    CHECK(speed(.5) == 25);
    CHECK(speed(2) == 100);
    CHECK(speed(8) == 100);
    view v(3);
    m.show({}, 0, 0, 4, v.all());
    CHECK(v.goodput == std::vector<double>(4, 0));
}

TEST_CASE("reported losses scatter around the curve, and are the same whenever they are asked for", "[models]") {
    cpu_model const m({.floor = .5, .power = 2, .power_steps = 100}, 50, 1, .1);
    double mean = 0, square = 0;
    for (std::uint64_t s = 0; s < 20'000; ++s) {
        double const off = m.reported_loss({}, 7, 3, static_cast<double>(s)) / m.loss({}, static_cast<double>(s)) - 1;
        mean += off;
        square += off * off;
    }
    CHECK(mean / 20'000 == Approx(0).margin(.004));
    CHECK(std::sqrt(square / 20'000) == Approx(.1).margin(.003));
    CHECK(m.reported_loss({}, 7, 3, 500) == m.reported_loss({}, 7, 3, 500));
    CHECK(m.reported_loss({}, 7, 3, 500) != m.reported_loss({}, 7, 4, 500));
    CHECK(m.reported_loss({}, 7, 3, 500) != m.reported_loss({}, 8, 3, 500));
    CHECK(cpu_model({.floor = 1}, 1, 1, 0).reported_loss({}, 1, 1, 1) == 1);
}
