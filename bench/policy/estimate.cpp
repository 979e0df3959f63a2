// SPDX-License-Identifier: BSL-1.0
// How long do the estimators take for a job and a tick, over the life of a job that makes a step at each tick? The
// baseline copies a column. All times contain the changes of the inputs.
#include <benchmark/benchmark.h>
#include <vector>

#include <ration/estimators/bottleneck.hpp>
#include <ration/estimators/duration.hpp>
#include <ration/estimators/nominal_speed.hpp>
#include <ration/estimators/phase_fit.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/any_estimator.hpp>
#include <ration/host/rng_sequence.hpp>

#include "support/allocations.hpp"
#include "unit/host.hpp"

namespace {

constexpr std::size_t jobs = 100;

void report(benchmark::State& state, std::size_t allocated, double ticks) {
    state.counters["allocations"] = static_cast<double>(allocated);
    state.counters["job_and_tick"] =
        benchmark::Counter(static_cast<double>(jobs) * ticks * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// Runs ticks, one each second. `show` sets the columns of a tick.
template <class E, class Show>
void run_ticks(unit::host& host, ration::estimator_adapter<E>& estimator, std::int64_t ticks, Show show) {
    for (std::int64_t tick = 1; tick <= ticks; ++tick) {
        show(tick);
        estimator.estimate({.now = ration::seconds(static_cast<double>(tick)), .data = host.store.view()}, host.store);
    }
}

/// Times the ticks, and returns the number of allocations in them. Pre: the timing is paused. It is so afterwards.
template <class E, class Show>
[[nodiscard]] std::size_t time_ticks(benchmark::State& state, unit::host& host, ration::estimator_adapter<E>& estimator,
                                     std::int64_t ticks, Show show) {
    std::size_t const before = allocations();
    state.ResumeTiming();
    run_ticks(host, estimator, ticks, show);
    state.PauseTiming();
    return allocations() - before;
}

/// Measures estimators over `ticks`, each with a new host. `life(host)` returns the number of allocations of these
/// ticks.
template <class Life>
void measure(benchmark::State& state, std::int64_t ticks, Life life) {
    std::size_t allocated = 0;
    for (auto _ : state) {
        state.PauseTiming();
        unit::host host(jobs);
        allocated += life(host);
        state.ResumeTiming();
    }
    report(state, allocated, static_cast<double>(ticks));
}

/// The baseline.
struct copied_step {
    using estimator_concept = ration::estimator_tag;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
    static constexpr ration::meta about{.id = "org.example.copied-step", .version = "1.0.0"};

    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) const noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row)
            to.get<"jobs/remaining">()[row] = static_cast<double>(t.get<"jobs/step">()[row]);
    }
};

void baseline(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000;
    measure(state, ticks, [&](unit::host& host) {
        ration::estimator_adapter<copied_step> estimator;
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        return time_ticks(state, host, estimator, ticks, [&](std::int64_t step) {
            for (auto& one : host.store[host.columns.step]) one = static_cast<std::uint64_t>(step);
        });
    });
}

/// 100 jobs, each for that many ticks. Their losses fall as 1 / (1 + step / 100), with noise.
void remaining(benchmark::State& state) {
    std::int64_t const ticks = state.range(0);
    measure(state, ticks, [&](unit::host& host) {
        ration::rng_sequence rng(7);
        ration::estimator_adapter<ration::estimators::remaining> estimator;
        auto const target = unit::must(host.store.declare<double>("jobs/loss.target"));
        for (auto& loss : host.store[target]) loss = 0.01;
        for (auto& total : host.store[unit::must(host.store.declare<double>("jobs/total_steps"))]) total = 1e9;
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        auto const allocated = time_ticks(state, host, estimator, ticks, [&](std::int64_t step) {
            for (std::size_t row = 0; row < jobs; ++row) {
                double const noise = 0.0001 * static_cast<double>(rng.below(1000));
                host.store[host.columns.step][row] = static_cast<std::uint64_t>(step);
                host.store[host.columns.loss][row] = (1 + noise) / (1 + static_cast<double>(step) / 100);
            }
        });
        benchmark::DoNotOptimize(host.store[host.columns.remaining].data());
        return allocated;
    });
}

/// 100 jobs with 1 to 8 devices, which change every ten ticks; speeds of up to `range(0)` devices.
void speed(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000;
    auto const width = static_cast<std::uint32_t>(state.range(0) + 1);
    measure(state, ticks, [&](unit::host& host) {
        ration::estimator_adapter<ration::estimators::speed> estimator;
        for (auto const* const name : {"jobs/speedup.given", "jobs/speedup", "jobs/goodput", "jobs/goodput.fixed"})
            static_cast<void>(unit::must(host.store.declare<double>(name, width)));
        static_cast<void>(unit::must(host.store.declare<double>("jobs/attained")));
        auto const& gpu = host.of(ration::resource_id::gpu);
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        return time_ticks(state, host, estimator, ticks, [&](std::int64_t tick) {
            for (std::size_t row = 0; row < jobs; ++row) {
                std::int64_t const devices = 1 + (static_cast<std::int64_t>(row) + tick / 10) % 8;
                host.store[host.columns.step][row] = static_cast<std::uint64_t>(tick);
                host.store[gpu.held][row] = devices;
                host.store[gpu.used][row] = static_cast<double>(devices);
                host.store[host.columns.measured_steps_per_second][row] =
                    1 / (1 / static_cast<double>(devices) + 0.1 + 0.01 * static_cast<double>(devices));
            }
        });
    });
}

/// 100 jobs, whose use changes at each tick of a second; a sample is taken each `range(0)` seconds.
void phases(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000;
    std::vector<ration::estimators::usage_sample> recorded;
    for (std::size_t i = 0; i < 400; ++i)
        recorded.push_back({.at = static_cast<double>(i),
                            .cpu = 100 * static_cast<double>(i / 80) + static_cast<double>(i % 7),
                            .memory = 1e8 * static_cast<double>(i / 80)});
    auto const model = ration::estimators::fit_phases(std::vector<decltype(recorded)>{recorded},
                                                      {.period = static_cast<double>(state.range(0))});
    measure(state, ticks, [&](unit::host& host) {
        ration::estimator_adapter<ration::estimators::phases> estimator{ration::estimators::phases({model})};
        static_cast<void>(unit::must(host.store.declare<std::uint32_t>("jobs/class")));
        static_cast<void>(unit::must(host.store.declare<double>("jobs/throttled.cpu")));
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        auto const cpu = host.store[host.of(ration::resource_id::cpu).used];
        auto const memory = host.store[host.of(ration::resource_id::memory).used];
        return time_ticks(state, host, estimator, ticks, [&](std::int64_t tick) {
            for (std::size_t row = 0; row < jobs; ++row) {
                cpu[row] = static_cast<double>((tick + static_cast<std::int64_t>(row)) % 500);
                memory[row] = 1e6 * cpu[row];
            }
        });
    });
}

/// 100 jobs of 32 classes, after 600 have ended. With `range(0)` = 1, a job ends at each tick and another one arrives.
void duration(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000, before = 600;
    bool const is_replaced = state.range(0) == 1;
    measure(state, ticks, [&](unit::host& host) {
        ration::rng_sequence rng(7);
        ration::estimator_adapter<ration::estimators::duration> estimator;
        auto const request = unit::must(host.store.declare<std::int64_t>("jobs/request.gpu"));
        auto const attained = unit::must(host.store.declare<double>("jobs/attained"));
        auto const nominal = unit::must(host.store.declare<double>("jobs/nominal_steps_per_second"));
        static_cast<void>(unit::must(host.store.declare<double>("jobs/total_steps.reported")));
        for (auto& target : host.store[unit::must(host.store.declare<double>("jobs/loss.target"))])
            target = ration::estimators::detail::unknown;
        for (auto& speed : host.store[nominal]) speed = 4;
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        auto const show = [&](std::int64_t first, bool ends) {
            for (std::size_t row = 0; row < jobs; ++row) {
                auto const id = static_cast<std::uint64_t>(first) + row + 1;
                host.store[host.columns.id][row] = id;
                host.store[host.columns.tenant][row] = id % 4;
                host.store[request][row] = static_cast<std::int64_t>(1 + id % 8);
                host.store[attained][row] += 1 + static_cast<double>(rng.below(100));
            }
            host.set_state(0, ends ? ration::job_state::done : ration::job_state::running);
        };
        run_ticks(host, estimator, before, [&](std::int64_t tick) { show(tick, true); });
        return time_ticks(state, host, estimator, ticks,
                          [&](std::int64_t tick) { show(before + (is_replaced ? tick : 1), is_replaced); });
    });
}

/// 100 jobs on 1 to 4 devices, which change every 100 ticks. A step is made at every `range(0)`th tick.
void bottleneck(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000;
    measure(state, ticks, [&](unit::host& host) {
        ration::rng_sequence rng(7);
        ration::estimator_adapter<ration::estimators::bottleneck> estimator;
        auto const workers = unit::must(host.store.declare<std::int64_t>("jobs/workers"));
        static_cast<void>(unit::must(host.store.declare<std::int64_t>("jobs/batch.reported")));
        static_cast<void>(unit::must(host.store.declare<double>("jobs/throttled.cpu")));
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        auto const cpu = host.store[host.of(ration::resource_id::cpu).used];
        return time_ticks(state, host, estimator, ticks, [&](std::int64_t tick) {
            for (std::size_t row = 0; row < jobs; ++row) {
                std::int64_t const devices = 1 + (static_cast<std::int64_t>(row) + tick / 100) % 4;
                host.store[host.columns.step][row] = static_cast<std::uint64_t>(tick / state.range(0));
                host.store[workers][row] = devices;
                cpu[row] = static_cast<double>(rng.below(1000));
                host.store[host.columns.measured_steps_per_second][row] =
                    static_cast<double>(devices) + 1e-4 * cpu[row];
            }
        });
    });
}

/// 100 jobs that request 4 devices, and run on 1 to 8.
void nominal_speed(benchmark::State& state) {
    constexpr std::int64_t ticks = 1000;
    measure(state, ticks, [&](unit::host& host) {
        ration::estimator_adapter<ration::estimators::nominal_speed> estimator;
        for (auto& request : host.store[unit::must(host.store.declare<std::int64_t>("jobs/request.gpu"))]) request = 4;
        for (auto const* const name : {"jobs/loss.target", "jobs/total_steps.reported"})
            static_cast<void>(unit::must(host.store.declare<double>(name)));
        unit::must(estimator.bind(host.store, {.jobs = jobs, .nodes = 1}));
        auto const held = host.store[host.of(ration::resource_id::gpu).held];
        return time_ticks(state, host, estimator, ticks, [&](std::int64_t tick) {
            for (std::size_t row = 0; row < jobs; ++row) {
                held[row] = 1 + (static_cast<std::int64_t>(row) + tick) % 8;
                host.store[host.columns.measured_steps_per_second][row] = static_cast<double>(held[row]);
            }
        });
    });
}

BENCHMARK(baseline)->Unit(benchmark::kMillisecond);
BENCHMARK(phases)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond);
BENCHMARK(speed)->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(duration)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(nominal_speed)->Unit(benchmark::kMillisecond);
BENCHMARK(bottleneck)->Arg(1)->Arg(4)->Unit(benchmark::kMillisecond);
BENCHMARK(remaining)->Arg(100)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
