// SPDX-License-Identifier: BSL-1.0
// The estimator of remaining steps, on generated curves of which the truth is known.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ration/estimators/remaining.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::estimators::remaining;
using ration::estimators::detail::loss_curve;

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// A normal deviate from a counter, by the sum of 12 uniform ones.
[[nodiscard]] double normal(std::uint64_t seed) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        sum += static_cast<double>(seed >> 33) / 2147483648.0;
    }
    return sum;
}

/// Jobs whose host fills all columns but the remaining steps.
struct trained {
    host on;
    ration::column<double> target, total;
    ration::estimator_adapter<remaining> estimator;
    std::uint64_t ticks = 0;

    explicit trained(std::size_t jobs, remaining chosen = {}) : on(jobs), estimator(std::move(chosen)) {
        target = must(on.store.declare<double>("jobs/loss.target"));
        total = must(on.store.declare<double>("jobs/total_steps"));
        for (std::size_t row = 0; row < jobs; ++row) on.store.at(target, row) = on.store.at(total, row) = unknown;
        must(estimator.bind(on.store, {.jobs = jobs, .nodes = 1}));
    }
    void report(std::size_t row, double step, double loss) {
        on.store[on.columns.step][row] = static_cast<std::uint64_t>(step);
        on.store[on.columns.loss][row] = loss;
    }
    double estimate(std::size_t row = 0) {
        estimator.estimate({.number = ++ticks, .data = on.store.view()}, on.store);
        return on.store[on.columns.remaining][row];
    }
    /// The estimate after reports at every `every` steps.
    template <class Loss>
    double train(double from, double to, double every, Loss loss) {
        double left = unknown;
        for (double step = from; step <= to; step += every) {
            report(0, step, loss(step));
            left = estimate();
        }
        return left;
    }
};

/// One of both models.
struct known_curve {
    loss_curve curve;
    double target;
};
constexpr known_curve curves[] = {
    {{.floor = 0.3, .power = 2, .scale = 100, .exponent = 1}, 0.4},
    {{.floor = 0, .power = 5, .scale = 400, .exponent = 1}, 0.5},
    {{.floor = 0.2, .power = 2, .scale = 50, .exponent = 0.7}, 0.4},
    {{.floor = 1, .power = 3, .scale = 300, .exponent = 2}, 1.1},
};

}  // namespace

TEST_CASE("remaining: the step at which an exact curve reaches its target is found early", "[estimator]") {
    for (auto const& [curve, target] : curves) {
        double const end = curve.step_at(target);
        CAPTURE(curve.floor, curve.exponent, end);
        trained t(1);
        t.on.store.at(t.target, 0) = target;
        double const every = std::floor(end / 200), half = 100 * every;
        double const left = t.train(every, half, every, [&, &c = curve](double step) { return c.at(step); });
        CHECK(left == Approx(end - half).epsilon(0.2));
    }
}

TEST_CASE("remaining: with noise the median of many jobs is near the truth, and its interval has most of them",
          "[estimator]") {
    auto const& [curve, target] = curves[0];
    double const end = curve.step_at(target), every = std::floor(end / 300), now = 210 * every;
    std::vector<double> ratios;
    int covered = 0;
    for (std::uint64_t job = 1; job <= 40; ++job) {
        trained t(1);
        t.on.store.at(t.target, 0) = target;
        auto const loss = [&, &c = curve](double step) {
            return c.at(step) * (1 + 0.02 * normal(1'000'003 * job + static_cast<std::uint64_t>(step)));
        };
        ratios.push_back(t.train(every, now, every, loss) / (end - now));
        ration::estimators::detail::loss_history history;
        for (double step = every; step <= now; step += every) history.report(step, loss(step), target);
        auto const forecast = history.reach(target);
        covered += forecast.least <= end && end <= forecast.most;
    }
    std::ranges::sort(ratios);
    CHECK(ratios[20] > 0.7);
    CHECK(ratios[20] < 1.4);
    CHECK(ratios[4] > 0.3);
    CHECK(covered >= 24);
}

TEST_CASE("remaining: unknown before 20 losses, without a target, and without a loss", "[estimator]") {
    auto const falling = [](double step) { return 0.3 + 2 / (1 + step / 100); };
    trained t(1);
    CHECK(std::isnan(t.train(10, 1000, 10, falling)));
    t.on.store.at(t.target, 0) = 0.4;
    CHECK(std::isnan(t.estimate()));
    CHECK(std::isnan(t.train(1010, 1180, 10, falling)));  // the loss of step 1000 and 18 others
    CHECK(t.train(1190, 1190, 10, falling) > 0);
    trained silent(1);
    silent.on.store.at(silent.target, 0) = 0.4;
    CHECK(std::isnan(silent.train(10, 1000, 10, [](double) { return 0.0; })));
}

TEST_CASE("remaining: an accuracy that rises is extrapolated like a loss that falls", "[estimator]") {
    auto const& [curve, target] = curves[0];
    double const end = curve.step_at(target);
    trained t(1);
    t.on.store.at(t.target, 0) = 10 - target;
    double const every = std::floor(end / 200), half = 100 * every;
    double const left = t.train(every, half, every, [&, &c = curve](double step) { return 10 - c.at(step); });
    CHECK(left == Approx(end - half).epsilon(0.2));
}

TEST_CASE("remaining: a target below the floor is expected to be reached, later than one above it", "[estimator]") {
    auto const falling = [](double step) { return 0.3 + 2 / (1 + step / 20); };
    trained above(1), below(1);
    above.on.store.at(above.target, 0) = 0.31;
    below.on.store.at(below.target, 0) = 0.1;
    double const near = above.train(10, 2000, 10, falling), far = below.train(10, 2000, 10, falling);
    CHECK(near == Approx(1980).epsilon(0.2));
    CHECK(far > 2 * near);
    CHECK(far < 200 * 2000);
}

TEST_CASE("remaining: early in a long training the estimate has the right order", "[estimator]") {
    trained slow(1), steady(1);
    slow.on.store.at(slow.target, 0) = 0.01;
    double const left = slow.train(1, 100, 1, [](double step) { return 2 / (1 + step / 1000); });
    CHECK(left > 199'000 / 4);
    CHECK(left < 199'000 * 4);
    steady.on.store.at(steady.target, 0) = 0.5;
    double const most = steady.train(1, 100, 1, [](double) { return 1.0; });
    CHECK(most == Approx(199.0 * 100));
}

TEST_CASE("remaining: a job past the step at which its curve reaches the target is nearly done", "[estimator]") {
    // The host does not count the target as reached.
    trained done(1);
    done.on.store.at(done.target, 0) = 0.5;
    double const left = done.train(1, 99, 1, [](double step) { return 0.1 + 2 / (1 + step / 10); });
    CHECK(left >= 0);
    CHECK(left < 5);
}

TEST_CASE("remaining: the number of all steps bounds it, unless the host wants it ignored", "[estimator]") {
    auto const falling = [](double step) { return 0.3 + 2 / (1 + step / 100); };
    trained t(1);
    t.on.store.at(t.total, 0) = 1000;
    CHECK(t.train(10, 100, 10, falling) == 900);
    t.on.store.at(t.target, 0) = 0.4;  // reached after 1900 steps
    CHECK(t.train(110, 600, 10, falling) == 400);
    t.on.store.at(t.total, 0) = 500;  // the job reports this total, and trains on
    CHECK(t.estimate() == 0);
    trained ignoring(1, remaining({.uses_totals = false}));
    ignoring.on.store.at(ignoring.total, 0) = 1000;
    CHECK(std::isnan(ignoring.train(10, 1000, 10, falling)));
}

TEST_CASE("remaining: a job that continues from a checkpoint keeps what it learned before it", "[estimator]") {
    auto const& [curve, target] = curves[0];
    auto const loss = [&, &c = curve](double step) { return c.at(step); };
    trained t(1), anew(1);
    t.on.store.at(t.target, 0) = anew.on.store.at(anew.target, 0) = target;
    double const before = t.train(8, 1000, 8, loss);
    CHECK(t.train(808, 816, 8, loss) == Approx(before + 184));
    CHECK(anew.train(8, 1000, 8, loss) == before);
    anew.report(0, 40, loss(40));
    CHECK(std::isnan(anew.estimate()));
}

TEST_CASE("remaining: a new target is estimated at once", "[estimator]") {
    auto const& [curve, target] = curves[0];
    trained t(1);
    t.on.store.at(t.target, 0) = 0.6;
    auto const loss = [&, &c = curve](double step) { return c.at(step); };
    CHECK(500 + t.train(5, 500, 5, loss) == Approx(curve.step_at(0.6)).epsilon(0.1));
    t.on.store.at(t.target, 0) = target;
    CHECK(t.estimate() == Approx(curve.step_at(target) - 500).epsilon(0.2));
}

TEST_CASE("remaining: a job that ends takes its history with it", "[estimator]") {
    trained t(2);
    for (std::size_t row = 0; row < 2; ++row) t.on.store.at(t.target, row) = 0.4;
    for (double step = 10; step <= 500; step += 10) {
        t.report(0, step, 3 - step / 1000);
        t.report(1, step, 0.3 + 2 / (1 + step / 100));
        t.estimate();
    }
    double const second = t.estimate(1);
    CHECK(second == Approx(1400).epsilon(0.1));
    t.on.store.erase_row(table_id::jobs, 0);
    CHECK(t.estimate(0) == second);
}

TEST_CASE("remaining keeps the laws of an Estimator", "[laws][estimator]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        auto const kept =
            ration::testing::estimator_laws([] { return remaining{}; }, {.seed = seed, .allocations = allocations});
        if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
    }
}

TEST_CASE("remaining: damaged state is refused", "[estimator]") {
    trained t(1);
    t.on.store.at(t.target, 0) = 0.4;
    remaining fresh;
    std::vector<std::byte> state(fresh.save({}) - 1);
    CHECK(fresh.load(state) == ration::status::state);
}
