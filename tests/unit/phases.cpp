// SPDX-License-Identifier: BSL-1.0
// Phases of jobs: learned from recorded usage, and recognised by the estimator.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <ration/estimators/phase_fit.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using namespace ration::estimators;

namespace {

using samples = std::vector<usage_sample>;

/// Appends this many samples of 2 s, with a small change from one to the next.
void use(samples& run, std::size_t count, double cpu, double memory, bool throttled = false) {
    for (std::size_t i = 0; i < count; ++i) {
        double const ripple = 1 + 0.01 * static_cast<double>(i % 2);
        run.push_back({.at = 2.0 * static_cast<double>(run.size() + 1),
                       .cpu = cpu * ripple,
                       .memory = memory * ripple,
                       .is_throttled = throttled});
    }
}

/// Load, then twice training and saving: 20 s each, and a save of 10 s with more memory and less CPU.
[[nodiscard]] samples training() {
    samples run;
    use(run, 10, 200, 1e8);
    for (int epoch = 0; epoch < 2; ++epoch) {
        use(run, 10, 1000, 1e9);
        use(run, 5, 300, 3e9);
    }
    return run;
}

[[nodiscard]] usage_window window_at(samples const& run, std::size_t end) {
    usage_window window;
    for (std::size_t i = 0; i < phase_window; ++i) window[i] = run[end - phase_window + i];
    return window;
}

[[nodiscard]] phase_model fit(samples const& run, phase_fit_options const& options = {}) {
    return fit_phases(std::vector<samples>{run}, options);
}

/// The estimator, on one job of class 0.
struct phased_job {
    host on{1};
    ration::column<std::uint32_t> kind = must(on.store.declare<std::uint32_t>("jobs/class"));
    ration::column<double> throttled = must(on.store.declare<double>("jobs/throttled.cpu"));
    ration::estimator_adapter<phases> estimator;
    double now = 0;

    explicit phased_job(phase_model const& model) : estimator(phases({model})) {
        must(estimator.bind(on.store, {.jobs = 1, .nodes = 1}));
    }
    void measure(double cpu, double memory) {
        on.store[on.of(resource_id::cpu).used][0] = cpu;
        on.store[on.of(resource_id::memory).used][0] = memory;
        estimator.estimate({.now = ration::seconds(now), .data = on.store.view()}, on.store);
        now += 1;
    }
    /// One measurement a second.
    void measure(samples const& run) {
        for (auto const& s : run)
            for (double const change : {-1.0, 1.0}) measure(s.cpu + change, s.memory);
    }
    [[nodiscard]] std::uint32_t phase() { return on.store[must(on.store.find<std::uint32_t>("jobs/phase"))][0]; }
    [[nodiscard]] double expected(char const* column) { return on.store[must(on.store.find<double>(column))][0]; }
};

}  // namespace

TEST_CASE("fit_phases: loading, training and saving are different phases, and repeated ones are the same",
          "[estimator][phases]") {
    auto const run = training();
    auto const model = fit(run);
    REQUIRE(model.is_valid());
    CHECK(model.count == 5);
    auto const loading = model.phase_of(window_at(run, 8)), first = model.phase_of(window_at(run, 18)),
               saving = model.phase_of(window_at(run, 24));
    CHECK(loading != first);
    CHECK(first != saving);
    CHECK(loading != saving);
    CHECK(model.phase_of(window_at(run, 33)) == first);
    CHECK(model.phase_of(window_at(run, 39)) == saving);
    std::uint32_t learned = 0;
    for (std::uint32_t i = 0; i < model.count; ++i) learned += model.phases[i].samples;
    CHECK(learned == run.size() - 3);
}

TEST_CASE("fit_phases: the demand of a save is expected during the training before it, and not beyond the horizon",
          "[estimator][phases]") {
    auto const run = training();
    auto const window = window_at(run, 15);
    auto const far = fit(run, {.horizon = 30}), near = fit(run, {.horizon = 2});
    auto const& training_far = far.phases[far.phase_of(window)];
    auto const& training_near = near.phases[near.phase_of(window)];
    CHECK(training_far.memory[expected_quantile] > 2.9e9);
    CHECK(training_far.cpu[expected_quantile] == Catch::Approx(1010));
    CHECK(training_near.memory[0] == Catch::Approx(1e9).epsilon(0.02));
}

TEST_CASE("fit_phases: the same runs give the same model, and another seed is another start", "[estimator][phases]") {
    auto const one = fit(training()), two = fit(training());
    CHECK(std::memcmp(&one.phases, &two.phases, sizeof one.phases) == 0);
    bool differs = false;
    for (std::uint64_t seed = 1; seed <= 8 && !differs; ++seed) {
        auto const other = fit(training(), {.seed = seed});
        differs = std::memcmp(&one.phases, &other.phases, sizeof one.phases) != 0;
    }
    CHECK(differs);
}

TEST_CASE("fit_phases: a throttled sample shows the limit, and is left out", "[estimator][phases]") {
    samples run;
    use(run, 20, 1000, 1e9);
    auto held_back = run;
    use(held_back, 20, 100, 1e9, true);
    auto const model = fit(held_back);
    CHECK(model.cpu.mean == fit(run).cpu.mean);
    for (std::uint32_t i = 0; i < model.count; ++i) CHECK(model.phases[i].cpu.front() >= 1000);
}

TEST_CASE("fit_phases: nothing is known from too few samples, and equal samples are one phase", "[estimator][phases]") {
    samples run;
    use(run, 3, 100, 1e8);
    CHECK(fit(run).count == 0);
    CHECK(fit_phases({}).count == 0);
    CHECK(fit({}).phase_of({}) == no_phase);
    samples const equal(9, usage_sample{.cpu = 500, .memory = 1e6});
    auto const model = fit(equal);
    CHECK(model.count == 1);
    CHECK(model.is_valid());
    CHECK(model.phases[0].cpu == quantile_values{500, 500, 500, 500});
    CHECK(fit(training(), {.phases = 100}).count == phase_model::most_phases);
}

TEST_CASE("fit_phases: a measurement so large that no distance is finite is not counted", "[estimator][phases]") {
    samples run;
    use(run, 8, 100, 1e8);
    use(run, 3, 1e308, 1e8);
    auto const model = fit(run);
    CHECK_FALSE(model.is_valid());
    std::uint32_t learned = 0;
    for (auto const& phase : model.phases) learned += phase.samples;
    CHECK(learned < run.size() - 3);
}

TEST_CASE("phase_model: is_valid refuses values from outside that could not be applied", "[estimator][phases]") {
    auto const good = fit(training());
    auto const is_refused = [&](auto const& damage) {
        auto model = good;
        damage(model);
        return !model.is_valid();
    };
    CHECK(is_refused([](phase_model& m) { m.period = 0; }));
    CHECK(is_refused([](phase_model& m) { m.horizon = std::nan(""); }));
    CHECK(is_refused([](phase_model& m) { m.count = 9; }));
    CHECK(is_refused([](phase_model& m) { m.cpu.deviation = 0; }));
    CHECK(is_refused([](phase_model& m) { m.memory.mean = HUGE_VAL; }));
    CHECK(is_refused([](phase_model& m) { m.phases[1].centre[7] = std::nan(""); }));
    CHECK(is_refused([](phase_model& m) { m.phases[4].cpu = {3, 2, 1, 0}; }));
    CHECK(is_refused([](phase_model& m) { m.phases[0].memory[0] = -1; }));
    CHECK(!is_refused([](phase_model&) {}));
}

TEST_CASE("phases: unknown for four samples, then the phase and what it expects", "[estimator][phases]") {
    auto const run = training();
    auto const model = fit(run);
    phased_job job(model);
    std::size_t unknown = 0;
    do {
        job.measure(200 + static_cast<double>(unknown), 1e8);
        REQUIRE(++unknown < 100);
        CHECK((job.phase() == no_phase) == std::isnan(job.expected("jobs/expected.cpu")));
    } while (job.phase() == no_phase);
    CHECK(unknown == 9);  // measurements, one a second from 0 s on: four periods of 2 s
    CHECK(job.phase() == model.phase_of(window_at(run, 8)));
    samples later;
    use(later, 6, 1000, 1e9);
    job.measure(later);
    auto const phase = model.phase_of(window_at(run, 18));
    CHECK(job.phase() == phase);
    CHECK(job.expected("jobs/expected.cpu") == model.phases[phase].cpu[expected_quantile]);
    CHECK(job.expected("jobs/expected.memory") == model.phases[phase].memory[expected_quantile]);
}

TEST_CASE("phases: a class without a model is unknown", "[estimator][phases]") {
    phased_job job(fit(training()));
    job.on.store[job.kind][0] = 1;
    samples run;
    use(run, 20, 1000, 1e9);
    job.measure(run);
    CHECK(job.phase() == no_phase);
    CHECK(std::isnan(job.expected("jobs/expected.cpu")));
    CHECK(std::isnan(job.expected("jobs/expected.memory")));
}

TEST_CASE("phases: a job that does not run is not measured", "[estimator][phases]") {
    phased_job job(fit(training()));
    job.on.set_state(0, job_state::restarting);
    job.measure(training());
    CHECK(job.phase() == no_phase);
}

TEST_CASE("phases keeps the laws of an Estimator", "[laws][estimator][phases]") {
    samples run;
    for (double const cpu : {0.0, 200.0, 400.0, 700.0, 1000.0}) use(run, 10, cpu, 1e6 * cpu);
    auto const models = std::vector(2, fit(run, {.period = 1, .horizon = 5}));
    auto const kept = ration::testing::estimator_laws([&] { return phases(models); }, {.allocations = allocations});
    if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
}

TEST_CASE("usage_sampler: measurements beyond any sum are ignored, so that its state stays one that it loads",
          "[phases]") {
    usage_sampler sampler;
    usage_sample sample;
    CHECK_FALSE(sampler.take({.now = ration::seconds(1), .cpu = 1e308, .memory = 1}, 10, sample));
    CHECK_FALSE(sampler.take({.now = ration::seconds(2), .cpu = 1.5e308, .memory = 2}, 10, sample));
    CHECK_FALSE(sampler.take({.now = ration::seconds(3), .cpu = 1, .memory = 3, .throttled = 1e308}, 10, sample));
    CHECK_FALSE(sampler.take({.now = ration::seconds(4), .cpu = 2, .memory = 4, .throttled = 1.5e308}, 10, sample));
    CHECK(sampler.sane());
    REQUIRE(sampler.take({.now = ration::seconds(20), .cpu = 3, .memory = 5}, 10, sample));
    CHECK(sample.memory == 5);
}
