// SPDX-License-Identifier: BSL-1.0
// What a tick costs: a bare loop, a policy class, the same class as a plugin in this process, and in a worker process; the check of
// each grant; and what an exchange of the policy costs. One table on standard output.
//   bench.plugin [--benchmark_repetitions=9]
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>

#include <benchmark/benchmark.h>

#include <ration/check.hpp>
#include <ration/plugin/host.hpp>
#include <ration/plugin/host/swappable.hpp>
#include <ration/plugin/host/worker_main.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/tradl.hpp>

#include "scene.hpp"
#include "support/allocations.hpp"
#include "table.hpp"

namespace plugin_bench {
namespace {

std::size_t allocated_on_ticks = 0;

template <class Policy>
void time_ticks(benchmark::State& state, Policy& policy) {
    scene on(static_cast<std::size_t>(state.range(0)));
    need(policy.bind(on.store.schema(), on.most()));
    std::size_t rows = on.ask(policy);
    if (rows != on.space.size()) state.SkipWithError("a job got no grant");
    std::size_t const before = allocations();
    for (auto _ : state) benchmark::DoNotOptimize(rows = on.ask(policy));
    allocated_on_ticks += allocations() - before;
}

template <class P>
void compiled_in(benchmark::State& state) {
    bound_policy<P> policy;
    time_ticks(state, policy);
}

[[nodiscard]] std::unique_ptr<plugin::guarded_policy> open(char const* path, plugin::isolation where) {
    return need(plugin::open(path, {.where = where, .config = {}, .worker = {.program = {"/proc/self/exe", {"worker"}}}, .strikes = {}}));
}

template <plugin::isolation Where>
void from_file(benchmark::State& state, char const* path) {
    auto const policy = open(path, Where);
    time_ticks(state, *policy);
}

/// equal_share by hand, with nothing of ration in it.
void bare_loop(benchmark::State& state) {
    scene on(static_cast<std::size_t>(state.range(0)));
    auto const data = on.store.view();
    auto const& jobs = data[table_id::jobs];
    auto const* const states = static_cast<std::uint32_t const*>(jobs.slot[on.columns.state.slot]);
    auto const& cpu = on.columns.resources[0];
    auto const* const least = static_cast<std::int64_t const*>(jobs.slot[cpu.minimum.slot]);
    auto const* const most = static_cast<std::int64_t const*>(jobs.slot[cpu.maximum.slot]);
    for (auto _ : state) {
        std::int64_t n = 0;
        for (std::size_t row = 0; row < jobs.rows; ++row) n += states[row] == 1;
        std::int64_t const share = on.store.at(cpu.capacity, 0) / n;
        std::size_t rows = 0;
        for (std::size_t row = 0; row < jobs.rows; ++row)
            if (states[row] == 1)
                on.space[rows++] = {static_cast<std::uint32_t>(row), 0, 0, 1, 0, std::clamp(share, least[row], most[row])};
        benchmark::DoNotOptimize(on.space.data());
        benchmark::ClobberMemory();
    }
}

void check_grants(benchmark::State& state) {
    scene on(static_cast<std::size_t>(state.range(0)));
    bound_policy<policies::equal_share> policy;
    need(policy.bind(on.store.schema(), on.most()));
    std::size_t const rows = on.ask(policy);
    ledger held;
    held.reset(1, std::size(standard_resources), rows);
    checker check;
    check.prepare(on.store, on.columns, standard_resources, 1, rows);
    buffer<checked_grant> accepted;
    buffer<rejection> rejected;
    accepted.reserve(rows), rejected.reserve(rows);
    for (auto _ : state) check.check(held, {on.space.data(), rows}, accepted, rejected);
    if (accepted.size() != rows) state.SkipWithError("a good grant was refused");
}

void add(char const* name, void (*run)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, run)->Arg(1)->Arg(100)->Arg(10000)->Arg(100000)->UseRealTime();
}
void add_files(std::string const& policy, char const* path) {
    for (auto const* mode : {"in process", "worker"}) {
        bool const worker = std::strcmp(mode, "worker") == 0;
        auto run = [=](benchmark::State& state) {
            worker ? from_file<plugin::isolation::worker>(state, path) : from_file<plugin::isolation::in_process>(state, path);
        };
        benchmark::RegisterBenchmark((policy + " " + mode).c_str(), run)->Arg(1)->Arg(100)->Arg(10000)->Arg(100000)->UseRealTime();
    }
}

void print_ticks(medians const& all, std::string const& policy) {
    std::printf("\n%-12s %14s %14s %14s %14s %12s %12s\n", policy.c_str(), "bare loop, ns", "class, ns", "in process, ns", "worker, ns",
                "in process +", "worker +, ns");
    for (auto const* jobs : {"1", "100", "10000", "100000"}) {
        auto const of = [&](std::string const& mode) { return all.of(policy + " " + mode + "/" + jobs); };
        double const compiled = of("class"), here = of("in process"), worker = of("worker");
        std::printf("%9s jobs %12.1f %14.1f %14.1f %14.1f %7.1f ns %3.0f %% %10.0f\n", jobs, of("bare loop"), compiled, here, worker, here - compiled,
                    100 * (here / compiled - 1), worker - compiled);
    }
}

[[nodiscard]] std::size_t mapped_plugins() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("ration-plugin") != line.npos && line.find(" r-xp ") != line.npos;
    return count;
}

/// 200 exchanges of TRADL for itself, with its state.
void print_swaps() {
    using clock = std::chrono::steady_clock;
    scene on(100);
    plugin::swappable_policy policy(open(RATION_BENCH_TRADL, plugin::isolation::in_process));
    need(policy.bind(on.store.schema(), on.most()));
    std::vector<double> whole, pause;
    std::size_t resident = 0;
    for (int i = 0; i < 200; ++i) {
        on.ask(policy);
        auto const start = clock::now();
        need(policy.change_to(open(RATION_BENCH_TRADL, plugin::isolation::in_process), {.shadow_ticks = 1}));
        on.ask(policy);
        auto const swap = clock::now();
        on.ask(policy);  // the tick that begins with the exchange
        auto const swapped = clock::now();
        on.ask(policy);
        auto const after = clock::now();
        policy.take_retired().reset();
        whole.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
        pause.push_back(std::chrono::duration<double, std::micro>((swapped - swap) - (after - swapped)).count());
        resident += mapped_plugins() != 1;
    }
    std::ranges::sort(whole), std::ranges::sort(pause);
    std::printf("\nhot swap, 200 times: pause %.2f us in the median, %.1f us for all of it; still mapped afterwards: %zu\n", pause[100], whole[100], resident);
}

}  // namespace
}  // namespace plugin_bench

int main(int argc, char** argv) {
    using namespace plugin_bench;
    if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return plugin::worker_main();
    std::vector<char*> arguments(argv, argv + argc);
    std::string repetitions = "--benchmark_repetitions=5", least = "--benchmark_min_time=0.05", interleaved = "--benchmark_enable_random_interleaving=true";
    for (auto* more : {&repetitions, &least, &interleaved}) arguments.insert(arguments.begin() + 1, more->data());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    add("equal_share bare loop", bare_loop);
    add("equal_share class", compiled_in<policies::equal_share>);
    add("tradl class", compiled_in<policies::tradl>);
    add("check", check_grants);
    add_files("equal_share", RATION_BENCH_EQUAL_SHARE);
    add_files("tradl", RATION_BENCH_TRADL);
    medians all;
    benchmark::RunSpecifiedBenchmarks(&all);
    print_ticks(all, "equal_share");
    print_ticks(all, "tradl");
    std::printf("\ncheck of the answer, ns per grant: %.2f at 100 jobs, %.2f at 10 000, %.2f at 100 000\n", all.of("check/100") / 100,
                all.of("check/10000") / 1e4, all.of("check/100000") / 1e5);
    print_swaps();
    std::printf("allocations on all those ticks: %zu\n", allocated_on_ticks);
}
