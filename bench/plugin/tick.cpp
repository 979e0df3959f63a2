// SPDX-License-Identifier: BSL-1.0
// What a tick costs: a bare loop, a policy class, the same class as a plugin in this process, and in a worker process; what the check
// of its answer adds; and what an exchange of the policy costs. One table on standard output.
//   bench.plugin [--benchmark_repetitions=9]
//   bench.plugin turns                        the class, a second core and a worker in turns; takes some minutes
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include <benchmark/benchmark.h>

#include <ration/check.hpp>
#include <ration/plugin/host.hpp>
#include <ration/plugin/host/swappable.hpp>
#include <ration/plugin/host/worker_main.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/tradl.hpp>

#include "every_row.hpp"
#include "in_turns.hpp"
#include "scene.hpp"
#include "support/allocations.hpp"
#include "table.hpp"

namespace plugin_bench {
namespace {

std::size_t allocated_on_ticks = 0;

/// With the check of each answer, as in an engine, or without.
enum class proof : bool { no, yes };

struct checked {
    ledger held;
    checker check;
    buffer<checked_grant> accepted;
    buffer<rejection> rejected;

    explicit checked(scene const& on) {
        std::size_t const nodes = on.store.rows(table_id::nodes);
        held.reset(nodes, std::size(standard_resources), on.space.size());
        check.prepare(on.store, on.columns, standard_resources, nodes, on.space.size());
        accepted.reserve(on.space.size()), rejected.reserve(on.space.size());
    }
    void all(scene const& on, std::size_t rows) { check.check(held, {on.space.data(), rows}, accepted, rejected); }
};

template <class Policy>
void time_ticks(benchmark::State& state, scene& on, Policy& policy, proof with_proof) {
    need(policy.bind(on.store.schema(), on.most()));
    checked answers(on);
    std::size_t rows = on.ask(policy);
    if (rows != on.space.size()) state.SkipWithError("a job got no grant");
    on.in_force = false;  // they hold what they were granted from here on
    std::size_t const before = allocations();
    for (auto _ : state) {
        benchmark::DoNotOptimize(rows = on.ask(policy));
        if (with_proof == proof::yes) answers.all(on, rows);
    }
    allocated_on_ticks += allocations() - before;
    if (with_proof == proof::yes && answers.accepted.size() != rows) state.SkipWithError("a good grant was refused");
}

template <class P>
void compiled_in(benchmark::State& state, proof with_proof) {
    scene on(static_cast<std::size_t>(state.range(0)));
    bound_policy<P> policy;
    time_ticks(state, on, policy, with_proof);
}

[[nodiscard]] std::unique_ptr<plugin::guarded_policy> open(char const* path, plugin::isolation where, plugin::shared_columns const* columns = nullptr) {
    plugin::worker_options worker{.program = {}, .columns = columns};
    if (where == plugin::isolation::worker) worker.program = {"/proc/self/exe", {"worker"}};  // in process: not tried in a worker first
    return need(plugin::open(path, {.where = where, .config = {}, .worker = worker, .strikes = {}}));
}

void in_process(benchmark::State& state, char const* path, proof with_proof) {
    scene on(static_cast<std::size_t>(state.range(0)));
    auto const policy = open(path, plugin::isolation::in_process);
    time_ticks(state, on, *policy, with_proof);
}

/// Its columns are copied at each tick, or lie where the worker sees them.
void in_worker(benchmark::State& state, char const* path, bool copied) {
    plugin::shared_columns columns;
    scene on(static_cast<std::size_t>(state.range(0)), copied ? nullptr : &columns);
    auto const policy = open(path, plugin::isolation::worker, copied ? nullptr : &columns);
    time_ticks(state, on, *policy, proof::no);
}

/// every_row by hand, with nothing of ration in it.
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

/// Rows as a policy that goes through its jobs writes them, and in no order.
enum class order : bool { by_job, shuffled };

/// The check of one answer again and again, as where nothing else has used the caches in between. All jobs hold what they are granted.
void check_alone(benchmark::State& state, std::size_t nodes, order rows_are) {
    scene on(static_cast<std::size_t>(state.range(0)));
    bound_policy<every_row> policy;
    need(policy.bind(on.store.schema(), on.most()));
    std::size_t const rows = on.ask(policy);
    need(on.store.resize(table_id::nodes, nodes));
    for (std::size_t node = 1; node < nodes; ++node) on.store.at(on.columns.resources[0].capacity, node) = on.store.at(on.columns.resources[0].capacity, 0);
    for (std::size_t i = 0; i < rows; ++i) on.space[i].node = static_cast<std::uint32_t>(i * 7 % nodes);
    checked answers(on);
    for (auto const& g : on.space) answers.held.set({{on.store.at(on.columns.id, g.job)}, g.node, static_cast<resource_id>(g.resource), g.amount}, {});
    if (rows_are == order::shuffled) std::ranges::shuffle(on.space, std::minstd_rand(1));
    for (auto _ : state) answers.all(on, rows);
    if (answers.accepted.size() != rows) state.SkipWithError("a good grant was refused");
}

struct check_case {
    char const* name;
    std::size_t nodes;
    order rows_are;
};
constexpr check_case checks[] = {{"check", 1, order::by_job}, {"check shuffled", 1, order::shuffled},
                                 {"check 128 nodes", 128, order::by_job}, {"check 128 nodes shuffled", 128, order::shuffled}};

void print_checks(medians const& all) {
    std::printf("\nthe check alone, ns a grant %11s %11s %11s\n", "100 jobs", "10 000", "100 000");
    for (auto const& c : checks) {
        auto const of = [&](int jobs) { return all.of(std::string(c.name) + '/' + std::to_string(jobs)) / jobs; };
        std::printf("%-26s %11.2f %11.2f %11.2f\n", c.name, of(100), of(10000), of(100000));
    }
}

template <class P>
void add(std::string const& policy, char const* path) {
    auto const run = [&](char const* mode, auto how) {
        benchmark::RegisterBenchmark((policy + ' ' + mode).c_str(), how)->Arg(1)->Arg(100)->Arg(10000)->Arg(100000)->UseRealTime();
    };
    run("class", [](benchmark::State& state) { compiled_in<P>(state, proof::no); });
    run("class, checked", [](benchmark::State& state) { compiled_in<P>(state, proof::yes); });
    run("in process", [=](benchmark::State& state) { in_process(state, path, proof::no); });
    run("in process, checked", [=](benchmark::State& state) { in_process(state, path, proof::yes); });
    run("worker", [=](benchmark::State& state) { in_worker(state, path, false); });
    run("worker, copied", [=](benchmark::State& state) { in_worker(state, path, true); });
}

void print_ticks(medians const& all, std::string const& policy) {
    std::printf("\n%-16s %11s %11s %11s %11s %11s %14s %10s %12s\n", policy.c_str(), "bare loop", "class", "in process", "worker", "w. copied",
                "in process +", "worker +", "check/job");
    for (int const jobs : {1, 100, 10000, 100000}) {
        auto const of = [&](std::string const& mode) { return all.of(policy + ' ' + mode + '/' + std::to_string(jobs)); };
        double const compiled = of("class"), here = of("in process"), worker = of("worker");
        std::printf("%11d jobs %11.1f %11.1f %11.1f %11.1f %11.1f %6.1f ns %3.0f %% %10.0f %12.2f\n", jobs, all.of("bare loop/" + std::to_string(jobs)),
                    compiled, here, worker, of("worker, copied"), here - compiled, 100 * (here / compiled - 1), worker - compiled,
                    (of("class, checked") - compiled) / jobs);
    }
}

/// Microseconds of each of 300 calls, the median; two milliseconds pass before each, so that whoever answers has gone to sleep.
template <class Call>
[[nodiscard]] double after_a_pause(Call call) {
    using clock = std::chrono::steady_clock;
    std::vector<double> took;
    for (int i = 0; i < 300; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        auto const start = clock::now();
        call();
        took.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
    }
    std::ranges::sort(took);
    return took[took.size() / 2];
}

/// What is left to the kernel: a thread that is woken on the other core, and wakes the one that woke it.
[[nodiscard]] double bare_wake() {
    std::atomic<std::uint32_t> asked{0}, answered{0};
    std::jthread const other([&] {
        stay_on(1);
        for (std::uint32_t i = 1; i <= 300; ++i) {
            while (asked.load() != i) plugin::wait_while(asked, i - 1, seconds(1));
            answered.store(i), plugin::wake(answered);
        }
    });
    return after_a_pause([&, i = std::uint32_t{0}]() mutable {
        asked.store(++i), plugin::wake(asked);
        while (answered.load() != i) plugin::wait_while(answered, i - 1, seconds(1));
    });
}

void print_wakes() {
    plugin::shared_columns columns;
    scene on(1, &columns);
    auto const policy = open(RATION_BENCH_EVERY_ROW, plugin::isolation::worker, &columns);
    need(policy->bind(on.store.schema(), on.most()));
    double const worker = after_a_pause([&] { on.ask(*policy); });
    std::printf("\nafter a pause of 2 ms, when the worker sleeps: %.1f us; two threads on a core each that wake each other: %.1f us\n", worker, bare_wake());
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
    if (argc == 2 && std::strcmp(argv[1], "worker") == 0) return stay_on(1), plugin::worker_main();
    stay_on(0);  // host and worker on a core each, as a scheduler leaves them while nothing else wants to run
    if (argc == 2 && std::strcmp(argv[1], "turns") == 0) return print_turns(), 0;
    std::vector<char*> arguments(argv, argv + argc);
    std::string repetitions = "--benchmark_repetitions=5", least = "--benchmark_min_time=0.05", interleaved = "--benchmark_enable_random_interleaving=true";
    for (auto* more : {&repetitions, &least, &interleaved}) arguments.insert(arguments.begin() + 1, more->data());
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    benchmark::RegisterBenchmark("bare loop", bare_loop)->Arg(1)->Arg(100)->Arg(10000)->Arg(100000)->UseRealTime();
    for (auto const& c : checks)
        benchmark::RegisterBenchmark(c.name, [=](benchmark::State& state) { check_alone(state, c.nodes, c.rows_are); })
            ->Arg(100)->Arg(10000)->Arg(100000)->UseRealTime();
    add<every_row>("every_row", RATION_BENCH_EVERY_ROW);
    add<policies::tradl>("tradl", RATION_BENCH_TRADL);
    add<policies::loss_delta_ratio>("loss_delta_ratio", RATION_BENCH_LOSS_DELTA_RATIO);
    medians all;
    benchmark::RunSpecifiedBenchmarks(&all);
    std::printf("nanoseconds a tick, medians; the bare loop is every_row by hand");
    for (auto const* policy : {"every_row", "tradl", "loss_delta_ratio"}) print_ticks(all, policy);
    print_checks(all);
    print_wakes();
    print_swaps();
    std::printf("allocations on all those ticks: %zu\n", allocated_on_ticks);
}
