// SPDX-License-Identifier: BSL-1.0
#include "in_turns.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include <sched.h>

#include <ration/plugin/host.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/tradl.hpp>

#include "every_row.hpp"
#include "scene.hpp"

namespace plugin_bench {

void stay_on(int core) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    if (std::thread::hardware_concurrency() > 1) static_cast<void>(::sched_setaffinity(0, sizeof one, &one));
}

namespace {

using clock = std::chrono::steady_clock;

[[nodiscard]] double nanoseconds_since(clock::time_point start) { return std::chrono::duration<double, std::nano>(clock::now() - start).count(); }

/// What happens between two ticks: ten jobs report, and the bounds of some change; or the machine does, so that most grants are others.
enum class change : bool { ten_jobs, all };

void change_something(scene& on, change what) {
    if (what == change::all) {
        auto const share = on.ticks % 2 == 0 ? 990 : 1000;
        auto const jobs = static_cast<std::int64_t>(on.space.size());
        on.store.at(on.columns.resources[0].capacity, 0) = jobs * share;
        on.store.at(on.columns.resources[static_cast<std::size_t>(resource_id::gpu)].capacity, 0) = jobs * (on.ticks % 2 == 0 ? 2 : 3);
        return;
    }
    std::size_t const jobs = on.space.size(), reports = std::min<std::size_t>(jobs, 10);
    for (std::size_t i = 0; i < reports; ++i) {
        std::size_t const row = (on.ticks * 7919 + i * (jobs / reports)) % jobs;
        on.store.at(on.columns.step, row) += 10;
        on.store.at(on.columns.loss, row) = 1.0 / static_cast<double>(on.store.at(on.columns.step, row));
        auto& least = on.store.at(on.columns.resources[0].minimum, row);
        least = least == 0 ? 2000 : 0;
    }
}

/// Nanoseconds a tick, the mean of so many that follow each other; before them as many again, until whoever was asleep is awake.
template <class Policy>
[[nodiscard]] double time_of(scene& on, Policy& policy, change what, int ticks) {
    for (int i = 0; i < std::max(2, ticks / 2); ++i) change_something(on, what), on.ask(policy);
    auto const start = clock::now();
    for (int i = 0; i < ticks; ++i) change_something(on, what), on.ask(policy);
    return nanoseconds_since(start) / ticks;
}

/// Asks a policy on a thread of its own, on the second core: what cores pay for each other's columns without any boundary between them.
class on_second_core {
    decider& policy_;
    tick_data const* tick_ = nullptr;
    grants* out_ = nullptr;
    status said_ = status::ok;
    alignas(64) std::atomic<std::uint32_t> asked_{0};
    alignas(64) std::atomic<std::uint32_t> answered_{0};
    std::jthread thread_;

    void serve(std::stop_token const& end) {
        stay_on(1);
        for (std::uint32_t done = 0;; ++done) {
            while (asked_.load(std::memory_order_acquire) == done)
                if (!plugin::spin_while(asked_, done, plugin::short_wait)) {
                    if (end.stop_requested()) return;
                    plugin::wait_while(asked_, done, milliseconds(1));
                }
            if (tick_ != nullptr) said_ = policy_.decide(*tick_, *out_);
            answered_.store(done + 1, std::memory_order_release);
        }
    }
    void ask() {
        std::uint32_t const next = answered_.load(std::memory_order_relaxed) + 1;
        asked_.store(next, std::memory_order_release);
        plugin::wake(asked_);
        while (answered_.load(std::memory_order_acquire) != next) {}
    }

public:
    explicit on_second_core(decider& policy) : policy_(policy), thread_([this](std::stop_token const& end) { serve(end); }) {}

    [[nodiscard]] status decide(tick_data const& t, grants& out) {
        tick_ = &t, out_ = &out;
        std::uint32_t const next = answered_.load(std::memory_order_relaxed) + 1;
        asked_.store(next, std::memory_order_release);
        while (answered_.load(std::memory_order_acquire) != next) {}
        return said_;
    }
    /// Nanoseconds there and back, of one line.
    [[nodiscard]] double round_trip() {
        tick_ = nullptr;
        ask();
        auto const start = clock::now();
        for (int i = 0; i < 200; ++i) {
            std::uint32_t const next = answered_.load(std::memory_order_relaxed) + 1;
            asked_.store(next, std::memory_order_release);
            while (answered_.load(std::memory_order_acquire) != next) {}
        }
        return nanoseconds_since(start) / 200;
    }
};

struct turn {
    double here, second_core, worker, copied;
};

/// Of a number of each turn: the value that so large a part of them does not exceed.
[[nodiscard]] double quantile(std::vector<turn> const& all, double part, double turn::*number) {
    std::vector<double> values;
    for (auto const& t : all) values.push_back(t.*number);
    std::ranges::sort(values);
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void print_row(char const* where, std::vector<turn> const& all, std::size_t of) {
    if (all.size() * 10 < of) return;
    std::printf("%6s %4zu", where, all.size());
    for (double const part : {0.25, 0.5}) {
        double const here = quantile(all, part, &turn::here);
        std::printf(" | %10.0f", here);
        for (auto const number : {&turn::second_core, &turn::worker, &turn::copied}) std::printf(" %+10.0f", quantile(all, part, number) - here);
    }
    std::printf("\n");
}

template <class P>
void print_turns_of(char const* name, char const* path, std::size_t jobs, change what) {
    plugin::shared_columns columns;
    scene on(jobs, &columns), apart(jobs);
    on.in_force = apart.in_force = !std::is_same_v<P, every_row>;
    bound_policy<P> here, there;
    plugin::worker_options worker{.program = {"/proc/self/exe", {"worker"}}, .columns = &columns};
    auto const shared = need(plugin::open(path, {.config = {}, .worker = worker, .strikes = {}}));
    worker.columns = nullptr;
    auto const copied = need(plugin::open(path, {.config = {}, .worker = worker, .strikes = {}}));
    for (decider* policy : {static_cast<decider*>(&here), static_cast<decider*>(&there), static_cast<decider*>(shared.get())}) need(policy->bind(on.store.schema(), on.most()));
    need(copied->bind(apart.store.schema(), apart.most()));
    on_second_core second(there);
    std::vector<turn> near, far;
    int const ticks = std::max(1, static_cast<int>(3e5 / (50 + time_of(on, here, what, 20))));
    constexpr std::size_t turns = 150;
    for (std::size_t i = 0; i < turns; ++i) {
        bool const is_near = second.round_trip() < 200;
        turn const one{.here = time_of(on, here, what, ticks), .second_core = time_of(on, second, what, ticks),
                       .worker = time_of(on, *shared, what, ticks), .copied = time_of(apart, *copied, what, ticks)};
        (is_near && second.round_trip() < 200 ? near : far).push_back(one);
    }
    std::printf("%-17s %6zu jobs, %s\n", name, jobs, what == change::all ? "all change" : "ten change");
    print_row("near", near, turns), print_row("far", far, turns);
}

template <class P>
void print_all(char const* name, char const* path) {
    for (auto const what : {change::ten_jobs, change::all})
        for (std::size_t const jobs : {1, 100, 10'000, 100'000}) print_turns_of<P>(name, path, jobs, what);
}

}  // namespace

void print_turns() {
    std::printf("\nnanoseconds a tick: in the class here, and how much more on a second core of this process, in a worker, and in one with copied columns; each first in\n"
                "the lower quartile of the turns, then in the median. near: a line goes to the other core and back in less than 200 ns\n");
    print_all<every_row>("every_row", RATION_BENCH_EVERY_ROW);
    print_all<policies::tradl>("tradl", RATION_BENCH_TRADL);
    print_all<policies::loss_delta_ratio>("loss_delta_ratio", RATION_BENCH_LOSS_DELTA_RATIO);
}

}  // namespace plugin_bench
