// SPDX-License-Identifier: BSL-1.0
#include "bench/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <sys/resource.h>
#include <sys/time.h>

#include <ration/host/rng_sequence.hpp>

#include "check/heap.hpp"
#include "common/error_text.hpp"
#include "policies/plugin_policy.hpp"

namespace ration::bench {
namespace {

using steady_clock = std::chrono::steady_clock;

constexpr std::int64_t devices_of_a_node = 8;
constexpr double cores_of_a_device = 8, between_ticks = 60, between_single_changes = 1;  // seconds
constexpr std::size_t most_ticks = 200, least_ticks = 5, counted_ticks = 10, least_counted = 2;
// A loop takes the tables of many jobs through the caches, and puts a worker to sleep: most ticks come without one.
constexpr std::size_t ticks_for_each_loop = 8;
constexpr std::chrono::milliseconds budget(250);  // of a cluster, unless its decisions take longer

[[nodiscard]] double nanoseconds_between(steady_clock::time_point from, steady_clock::time_point to) {
    return std::chrono::duration<double, std::nano>(to - from).count();
}

/// The time of two readings of the clock with nothing in between.
[[nodiscard]] double cost_of_the_clock() {
    std::vector<double> all(501);
    for (auto& one : all) {
        auto const start = steady_clock::now();
        one = nanoseconds_between(start, steady_clock::now());
    }
    std::ranges::nth_element(all, all.begin() + 250);
    return all[250];
}

[[nodiscard]] double quantile(std::vector<double> const& sorted, double part) {
    return sorted[static_cast<std::size_t>(std::lround(part * static_cast<double>(sorted.size() - 1)))];
}

[[nodiscard]] measured_job drawn_job(rng_sequence& any) {
    constexpr std::int64_t sizes[] = {1, 1, 1, 1, 2, 2, 4, 8};
    measured_job job;
    job.request = sizes[any.below(std::size(sizes))];
    job.most = std::min<std::int64_t>(2 * job.request, most_units);
    job.length = static_cast<double>(10'000 + any.below(1'000'000));
    job.tenant = static_cast<std::uint32_t>(any.below(4));
    job.tier = any.once_in(3);
    job.weight = static_cast<double>(1 + any.below(3));
    double const one = static_cast<double>(1 + any.below(8)), loss = 0.01 * static_cast<double>(any.below(20));
    for (std::size_t k = 1; k <= most_units; ++k) {
        auto const n = static_cast<double>(std::min<std::int64_t>(static_cast<std::int64_t>(k), job.most));
        job.speed[k] = one * n / (1 + loss * (n - 1));
    }
    return job;
}

[[nodiscard]] measured_shape shape_of(cluster_case const& in, any_policy const& policy) {
    measured_shape shape{.what = shared_by(policy),
                         .devices = {},
                         .cores = cores_of_a_device * static_cast<double>(in.devices),
                         .jobs = in.jobs};
    auto left = static_cast<std::int64_t>(in.devices);
    for (std::int64_t const node = knows_nodes(policy) ? devices_of_a_node : left; left > 0; left -= node)
        shape.devices.push_back(std::min(node, left));
    return shape;
}

/// Lets things happen in a cluster, the same on every run of one seed as long as the policy answers the same.
class recorded_runs {
    measured_cluster& in_;
    cluster_case const& how_;
    rng_sequence any_;
    std::unique_ptr<bool[]> gone_;

public:
    recorded_runs(measured_cluster& in, cluster_case const& how, std::uint64_t seed)
        : in_(in), how_(how), any_(seed), gone_(std::make_unique<bool[]>(how.jobs)) {
        for (std::size_t i = 0; i < how.jobs; ++i) in_.arrive(drawn_job(any_));
    }

    void go_on() {
        bool const is_single = how_.changes == pattern::single;
        std::size_t const few = is_single ? 1 : std::max<std::size_t>(how_.jobs / 100, 1);
        double const passed = is_single ? between_single_changes : between_ticks;
        in_.pass(passed);
        for (std::size_t i = 0; i < few; ++i) {
            std::size_t const row = any_.below(how_.jobs);
            in_.work(row, passed);
            in_.set_tier(row, static_cast<std::uint32_t>(any_.below(2)));
        }
        if (how_.changes != pattern::churn) return;
        std::fill_n(gone_.get(), how_.jobs, false);
        for (std::size_t i = 0; i < few; ++i) gone_[any_.below(how_.jobs)] = true;
        in_.leave({gone_.get(), how_.jobs});
        while (in_.jobs() < how_.jobs) in_.arrive(drawn_job(any_));
    }
};

/// One policy in one cluster.
class stopwatch {
    any_policy& policy_;
    measured_cluster& in_;
    recorded_runs& runs_;
    answer_limit limit_;
    measured& into_;

public:
    stopwatch(any_policy& policy, measured_cluster& in, recorded_runs& runs, bool limited, measured& into)
        : policy_(policy), in_(in), runs_(runs), limit_(limited), into_(into) {}

    /// False when the policy gave no answer.
    [[nodiscard]] bool warm_up() {
        return finish(asked([] {}, [] {})).reply == status::ok;
    }

    void count() {
        auto const end = steady_clock::now() + budget;
        auto& memory = into_.memory;
        std::uint64_t taken = 0, faults = 0;
        static_cast<void>(conformance::sees_the_heap());  // a sanitizer counts from the first time that it is asked
        while (memory.ticks < least_counted || (memory.ticks < counted_ticks && steady_clock::now() < end)) {
            runs_.go_on();
            std::uint64_t heap = 0, pages = 0;
            auto const reply = asked(
                [&] {
                    pages = page_faults();
                    heap = conformance::allocations_of_this_thread();
                },
                [&] {
                    heap = conformance::allocations_of_this_thread() - heap;
                    pages = page_faults() - pages;
                });
            ++memory.ticks;
            taken += heap;
            faults += pages;
            memory.most_allocations = std::max(memory.most_allocations, heap);
            memory.allocations = static_cast<double>(taken) / static_cast<double>(memory.ticks);
            memory.faults = static_cast<double>(faults) / static_cast<double>(memory.ticks);
            if (finish(reply).reply != status::ok) return;
        }
    }

    void time() {
        auto const end = steady_clock::now() + budget;
        double const clock = cost_of_the_clock();
        std::vector<double> took, calm, loops;  // calm: those that nothing interrupted
        std::size_t rows = 0;
        while (took.size() < least_ticks || (took.size() < most_ticks && steady_clock::now() < end)) {
            runs_.go_on();
            if (took.size() % ticks_for_each_loop == 0) loops.push_back(time_of_loop(clock));
            steady_clock::time_point start, stop;
            auto const before = usage().ru_nivcsw;
            auto const reply = asked([&] { start = steady_clock::now(); }, [&] { stop = steady_clock::now(); });
            took.push_back(nanoseconds_between(start, stop) - clock);
            if (usage().ru_nivcsw == before) calm.push_back(took.back());
            auto const outcome = finish(reply);
            rows += outcome.grants;
            if (outcome.reply != status::ok) break;
        }
        double const mean_rows = static_cast<double>(rows) / static_cast<double>(took.size());
        into_.times = {.interrupted = calm.size() < least_ticks ? 0 : took.size() - calm.size(), .grants = mean_rows};
        emit(calm.size() < least_ticks ? took : calm, loops);
    }

private:
    template <class Before, class After>
    [[nodiscard]] status asked(Before const& before, After const& after) {
        limit_.begin();
        auto const reply = in_.ask(policy_, before, after);
        limit_.end();
        return reply;
    }

    tick_outcome finish(status reply) {
        auto const outcome = in_.take(reply);
        into_.wrong.note(outcome, in_, policy_);
        return outcome;
    }

    /// A small loop is shorter than the clock can measure, so that `turns` loops run in a row.
    [[nodiscard]] double time_of_loop(double clock) noexcept {
        std::size_t const turns = std::max<std::size_t>(1, 1000 / in_.jobs());
        auto const start = steady_clock::now();
        for (std::size_t i = 0; i < turns; ++i) static_cast<void>(in_.plain_loop());
        return (nanoseconds_between(start, steady_clock::now()) - clock) / static_cast<double>(turns);
    }

    void emit(std::vector<double>& took, std::vector<double>& loops) const {
        for (auto* const all : {&took, &loops}) {
            for (double& one : *all) one = std::max(one, 0.1);  // the clock may take longer than what it measures
            std::ranges::sort(*all);
        }
        auto& t = into_.times;
        t.ticks = took.size();
        t.median = quantile(took, 0.5);
        t.low = quantile(took, 0.1);
        t.high = quantile(took, 0.9);
        t.longest = took.back();
        t.loop = quantile(loops, 0.5);
    }

    /// Of this thread.
    [[nodiscard]] static rusage usage() noexcept {
        rusage used{};
        ::getrusage(RUSAGE_THREAD, &used);
        return used;
    }
    [[nodiscard]] static std::uint64_t page_faults() noexcept {
        auto const used = usage();
        return static_cast<std::uint64_t>(used.ru_minflt + used.ru_majflt);
    }
};

}  // namespace

void answer_limit::begin() const noexcept {
    itimerval const once{{}, {longest_answer, 0}};
    if (in_effect_) ::setitimer(ITIMER_PROF, &once, nullptr);
}

void answer_limit::end() const noexcept {
    itimerval const never{};
    if (in_effect_) ::setitimer(ITIMER_PROF, &never, nullptr);
}

void trouble::note(tick_outcome const& outcome, measured_cluster const& in, any_policy const& policy) {
    if (outcome.refused > 0 && refused++ == 0) first_refused = std::string_view(in.first_wrong());
    if (outcome.reply == status::ok || lost++ > 0) return;
    auto const why = program::trouble_of(policy);
    std::string const code = "it returned " + std::to_string(static_cast<int>(outcome.reply)) + ", see docs/errors.md";
    first_lost = std::string_view(why.empty() ? code : why);
}

void measure(any_policy& policy, cluster_case const& in, measuring const& how, column_memory* columns, measured& into) {
    measured_cluster here(shape_of(in, policy), columns);
    recorded_runs runs(here, in, how.seed);
    if (auto const bound = here.bind(policy); !bound) {
        into.unfit = std::string_view(program::to_text(bound.failure()));
        return;
    }
    stopwatch watch(policy, here, runs, how.limited, into);
    if (!watch.warm_up()) return;
    if (how.memory) watch.count();
    if (how.times && into.wrong.lost == 0) watch.time();
}

}  // namespace ration::bench
