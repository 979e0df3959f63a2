// SPDX-License-Identifier: BSL-1.0
#include "pauses.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <ration/plugin/host/hot_swap.hpp>

#include "cores.hpp"
#include "opened.hpp"
#include "scene.hpp"

namespace plugin_bench {
namespace {

/// Microseconds of each of 300 calls, the median; two milliseconds pass before each, so that the worker has gone
/// to sleep.
template <class Call>
[[nodiscard]] double after_a_pause(Call call) {
    std::vector<double> took;
    for (int i = 0; i < 300; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        auto const start = clock::now();
        call();
        took.push_back(nanoseconds_since(start) / 1000);
    }
    std::ranges::sort(took);
    return took[took.size() / 2];
}

/// The bare kernel: a thread that is woken on the other core, and wakes the one that woke it.
[[nodiscard]] double bare_wake() {
    std::atomic<std::uint32_t> asked{0}, answered{0};
    std::jthread const other([&] {
        stay_on(1);
        for (std::uint32_t i = 1; i <= 300; ++i) {
            while (asked.load() != i) plugin::wait_while(asked, i - 1, seconds(1));
            answered.store(i);
            plugin::wake(answered);
        }
    });
    return after_a_pause([&, i = std::uint32_t{0}]() mutable {
        asked.store(++i);
        plugin::wake(asked);
        while (answered.load() != i) plugin::wait_while(answered, i - 1, seconds(1));
    });
}

[[nodiscard]] std::size_t mapped_plugins() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find("ration-plugin") != line.npos && line.find(" r-xp ") != line.npos;
    return count;
}

}  // namespace

void print_wakes() {
    plugin::shared_columns columns;
    scene on(1, &columns);
    auto const policy = opened(RATION_BENCH_EVERY_ROW, plugin::isolation::worker, &columns);
    need(policy->bind(on.store.schema(), on.most()));
    double const worker = after_a_pause([&] { on.ask(*policy); });
    std::printf(
        "\nafter a pause of 2 ms, when the worker sleeps: %.1f us; two threads on a core each that wake each other: %.1f us\n",
        worker, bare_wake());
}

void print_swaps() {
    scene on(100);
    plugin::hot_swap_policy policy(opened(RATION_BENCH_TRADL, plugin::isolation::in_process));
    need(policy.bind(on.store.schema(), on.most()));
    std::vector<double> whole, pause;
    std::size_t resident = 0;
    for (int i = 0; i < 200; ++i) {
        on.ask(policy);
        auto const start = clock::now();
        need(policy.change_to(opened(RATION_BENCH_TRADL, plugin::isolation::in_process), {.shadow_ticks = 1}));
        on.ask(policy);
        auto const swap = clock::now();
        on.ask(policy);  // the tick that begins with the exchange
        auto const swapped = clock::now();
        on.ask(policy);
        auto const after = clock::now();
        policy.take_retired().reset();
        whole.push_back(nanoseconds_since(start) / 1000);
        pause.push_back(std::chrono::duration<double, std::micro>((swapped - swap) - (after - swapped)).count());
        resident += mapped_plugins() != 1;
    }
    std::ranges::sort(whole);
    std::ranges::sort(pause);
    std::printf(
        "\nhot swap, 200 times: pause %.2f us in the median, %.1f us for all of it; still mapped afterwards: %zu\n",
        pause[100], whole[100], resident);
}

}  // namespace plugin_bench
