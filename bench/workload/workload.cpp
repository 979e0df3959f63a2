// SPDX-License-Identifier: BSL-1.0
// The cost of reading a trace, of generating one, and of the speed of a job from a measured profile.
#include <benchmark/benchmark.h>
#include <cstdint>
#include <string>
#include <vector>

#include <ration/sim/generator.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/write.hpp>

namespace {

using namespace ration::sim;

[[nodiscard]] generator_options jobs(benchmark::State const& state) {
    return {.jobs = static_cast<std::size_t>(state.range(0)), .jobs_per_hour = 100};
}

/// The four columns of the simplest trace.
[[nodiscard]] std::string plain(workload const& w) {
    std::string text = "job_id,submit_time,num_gpus,duration\n";
    for (std::size_t j = 0; j < w.jobs.size(); ++j) {
        auto const& job = w.jobs[j];
        text += std::to_string(j) + ',' + std::to_string(job.submitted.count / 1'000'000'000) + ',' +
                std::to_string(job.request) + ',' + std::to_string(static_cast<std::int64_t>(job.length)) + '\n';
    }
    return text;
}

void read_plain(benchmark::State& state) {
    std::string const text = plain(make_rigid(jobs(state)));
    for (auto _ : state) benchmark::DoNotOptimize(trace::read(text, {}, "t"));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_plain)->Arg(20'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void read_all_columns(benchmark::State& state) {
    std::string const text = trace::written(make_rigid(jobs(state)));
    for (auto _ : state) benchmark::DoNotOptimize(trace::read(text, {}, "t"));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_all_columns)->Arg(20'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void make_up(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(make_rigid(jobs(state)));
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(make_up)->Arg(20'000)->Unit(benchmark::kMillisecond);

void load(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(load_profiles(RATION_BENCH_DATA "/pollux"));
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

/// How a job of cifar10 scales to 64 devices; argument: devices of a node, 4 of them prepared.
void show(benchmark::State& state) {
    auto const library = load_profiles(RATION_BENCH_DATA "/pollux");
    named_model const* const cifar10 = library ? find_model(*library, "cifar10") : nullptr;
    if (cifar10 == nullptr) return state.SkipWithError("bench/data/pollux cannot be read");
    job_description job = cifar10->usual;
    job.batch = 2048;
    std::vector<double> goodput(65), fixed(65);
    std::vector<std::int64_t> batch(65);
    for (auto _ : state) {
        cifar10->model->show(job, 10'000, 0, state.range(0), {goodput, fixed, batch});
        benchmark::DoNotOptimize(goodput.data());
        benchmark::ClobberMemory();
    }
}
BENCHMARK(show)->Arg(4)->Arg(8)->Unit(benchmark::kMicrosecond);

void pace_of_a_job(benchmark::State& state) {
    auto const library = load_profiles(RATION_BENCH_DATA "/pollux");
    named_model const* const cifar10 = library ? find_model(*library, "cifar10") : nullptr;
    if (cifar10 == nullptr) return state.SkipWithError("bench/data/pollux cannot be read");
    job_description job = cifar10->usual;
    job.batch = 2048;
    std::vector<std::int32_t> const spread{4, 3};
    double step = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(cifar10->model->at(job, {.spread = spread, .devices = 7}, step));
        step = step > job.length ? 0 : step + 100;
    }
}
BENCHMARK(pace_of_a_job)->Unit(benchmark::kNanosecond);

}  // namespace

BENCHMARK_MAIN();
