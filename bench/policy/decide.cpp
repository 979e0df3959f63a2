// SPDX-License-Identifier: BSL-1.0
// How long does one decision of each scheduling policy take? Rigid policies at ticks at which nothing changes, with and
// without jobs that wait; the others when all is divided again.
#include <benchmark/benchmark.h>

#include <ration/policies/afs.hpp>
#include <ration/policies/drf.hpp>
#include <ration/policies/edf.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/sia.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>

#include "unit/cluster_random.hpp"

namespace {

using namespace ration::policies;
using unit::cluster;
using unit::counts;

/// 1024 devices, 8 on a node, of this number of types.
template <class P>
cluster<P> devices_of(std::uint32_t types) {
    std::vector<std::uint32_t> of_type;
    for (std::uint32_t n = 0; n < 128; ++n) of_type.push_back(n % types);
    return cluster<P>(counts(128, 8), P{}, of_type);
}

template <class P, std::size_t most_jobs>
void measure(benchmark::State& state, cluster<P, most_jobs>& c) {
    c.show();
    std::vector<ration::grant> rows(1 << 16);
    ration::tick_data const data{
        .number = 1, .seed = 1, .now = ration::seconds(c.now), .budget = ration::seconds(1), .data = c.store.view()};
    ration::tick<typename P::inputs> const t(data, c.bound);
    std::size_t answered = 0;
    for (auto _ : state) {
        ration::grants out(rows);
        benchmark::DoNotOptimize(c.policy.decide(t, out));
        answered = out.size();
    }
    state.counters["rows"] = static_cast<double>(answered);
}

/// This number of jobs of 1 to 12 devices has come one after another; the policy has been asked each time, and once
/// more.
template <class P>
void quiet(benchmark::State& state) {
    auto c = devices_of<P>(1);
    ration::rng_sequence rng(7);
    for (std::int64_t i = 0; i < state.range(0); ++i) {
        c.submit(unit::random_job(rng, true, 1, 64));
        if (i % 16 == 0) {
            c.decide();
            c.pass(5);
        }
    }
    c.decide();
    c.pass(5);
    measure(state, c);
}

/// This number of elastic jobs has just come, among which the devices are divided.
template <class P>
void divides(benchmark::State& state) {
    auto c = devices_of<P>(static_cast<std::uint32_t>(state.range(1)));
    ration::rng_sequence rng(7);
    for (std::int64_t i = 0; i < state.range(0); ++i) c.submit(unit::random_job(rng, false, c.types, 64));
    measure(state, c);
}

/// The same when they run already.
template <class P>
void divides_again(benchmark::State& state) {
    auto c = devices_of<P>(static_cast<std::uint32_t>(state.range(1)));
    ration::rng_sequence rng(7);
    for (std::int64_t i = 0; i < state.range(0); ++i) c.submit(unit::random_job(rng, false, c.types, 64));
    for (int round = 0; round < 3; ++round) {
        c.decide();
        c.pass(600);
    }
    measure(state, c);
}

constexpr std::size_t many = 10'000;

/// A job for 1 to 64 devices that scales less and less well.
unit::cluster_job wide_job(ration::rng_sequence& rng) {
    unit::cluster_job j{.least = 1, .most = 64, .length = static_cast<double>(1 + rng.below(2000))};
    double const one = static_cast<double>(1 + rng.below(12)), loss = 0.02 * static_cast<double>(rng.below(20));
    for (int k = 0; k <= 64; ++k) j.goodput.push_back(one * k / (1 + loss * (k - 1)));
    return j;
}

/// Ten thousand elastic jobs and as many devices, 8 on a node.
template <class P>
cluster<P, many + 1> large_cluster() {
    cluster<P, many + 1> c(counts(many / 8, 8));
    ration::rng_sequence rng(7);
    for (std::size_t i = 0; i < many; ++i) c.submit(wide_job(rng));
    return c;
}

/// They have just come.
template <class P>
void divides_many(benchmark::State& state) {
    auto c = large_cluster<P>();
    measure(state, c);
}

/// They run. In each round one more comes, and the oldest has ended before.
template <class P>
void takes_one_more(benchmark::State& state) {
    auto c = large_cluster<P>();
    c.decide();
    ration::rng_sequence rng(8);
    for (auto _ : state) {
        state.PauseTiming();
        c.pass(1);
        c.end(c.id_of(0));
        c.decide();
        c.submit(wide_job(rng));
        c.pass(1);
        c.show();
        std::vector<ration::grant> rows(2 * many);
        ration::tick_data const data{.number = c.ticks,
                                     .seed = 1,
                                     .now = ration::seconds(c.now),
                                     .budget = ration::seconds(1),
                                     .data = c.store.view()};
        ration::tick<typename P::inputs> const t(data, c.bound);
        ration::grants out(rows);
        state.ResumeTiming();
        benchmark::DoNotOptimize(c.policy.decide(t, out));
    }
    if (!c.fault.empty()) state.SkipWithError(c.fault.c_str());
}

// 270 jobs: all run. 600: 1024 devices are not enough for all.
#define RATION_QUIET(policy) BENCHMARK(quiet<policy>)->Arg(270)->Arg(600)->Unit(benchmark::kMicrosecond)
RATION_QUIET(fifo);
RATION_QUIET(sjf);
RATION_QUIET(srtf);
RATION_QUIET(las);
RATION_QUIET(gittins);
RATION_QUIET(drf);
RATION_QUIET(pack);
RATION_QUIET(spread);
RATION_QUIET(gang);

#define RATION_DIVIDES(policy, jobs, types)                                         \
    BENCHMARK(divides<policy>)->Args({jobs, types})->Unit(benchmark::kMillisecond); \
    BENCHMARK(divides_again<policy>)->Args({jobs, types})->Unit(benchmark::kMillisecond)
RATION_DIVIDES(max_min, 2048, 1);
RATION_DIVIDES(optimus, 512, 1);
RATION_DIVIDES(afs, 512, 1);
RATION_DIVIDES(edf, 512, 1);
RATION_DIVIDES(pollux, 256, 1);
RATION_DIVIDES(good_enough, 256, 1);
RATION_DIVIDES(sia, 512, 1);
RATION_DIVIDES(sia, 512, 3);
BENCHMARK(divides_many<good_enough>)->Unit(benchmark::kMillisecond);
BENCHMARK(takes_one_more<good_enough>)->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace

BENCHMARK_MAIN();
