// SPDX-License-Identifier: BSL-1.0
// The cost of a tick: a bare loop, a policy class, the same class as a plugin in this process, and in a worker process;
// what the check of its answer adds; and what an exchange of the policy costs. All of it on standard output, within two
// or three minutes.
//   bench.plugin
//   bench.plugin --benchmark_repetitions=9 --benchmark_filter=tradl,.nothing
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstring>
#include <vector>

#include <ration/plugin/host/worker_main.hpp>

#include "checks.hpp"
#include "cores.hpp"
#include "pauses.hpp"
#include "table.hpp"
#include "turns.hpp"

int main(int argc, char** argv) {
    using namespace plugin_bench;
    if (argc == 2 && std::strcmp(argv[1], "worker") == 0) {
        stay_on(1);
        return ration::plugin::worker_main();
    }
    stay_on(0);
    std::vector<char*> arguments(argv, argv + argc);
    char repetitions[] = "--benchmark_repetitions=5", least[] = "--benchmark_min_time=0.05",
         interleaved[] = "--benchmark_enable_random_interleaving=true";
    for (char* more : {repetitions, least, interleaved}) arguments.insert(arguments.begin() + 1, more);
    int count = static_cast<int>(arguments.size());
    benchmark::Initialize(&count, arguments.data());
    register_turns();
    register_checks();
    medians all;
    benchmark::RunSpecifiedBenchmarks(&all);
    print_turns(all);
    print_checks(all);
    print_wakes();
    print_swaps();
    std::printf("allocations on all those ticks: %zu\n", allocated_on_ticks());
}
