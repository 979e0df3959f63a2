// SPDX-License-Identifier: BSL-1.0
// Whole runs of streams of jobs. Each runs in a separate process, so that its memory is not that of an earlier one.
#include "streamed.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ration/policies/fifo.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/simulation.hpp>
#include <ration/sim/streamed_summary.hpp>

namespace ration::bench {
namespace {

/// Adds up the figures, and counts the active jobs.
class watch final : public sim::run_observer {
    sim::streamed_summary summary_;
    std::size_t active_ = 0, most_ = 0;

public:
    watch(sim::workload const& kinds, sim::cluster const& machines) : summary_(kinds, machines) {}

    void submitted(nanoseconds now, std::uint64_t job) noexcept override {
        summary_.submitted(now, job);
        most_ = std::max(most_, ++active_);
    }
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds now, std::uint64_t job) noexcept override {
        summary_.finished(now, job);
        --active_;
    }
    void outcome_of(std::uint64_t id, sim::job_description const& job, sim::job_outcome const& got) noexcept override {
        summary_.outcome_of(id, job, got);
    }
    [[nodiscard]] std::size_t most_active() const noexcept { return most_; }
    [[nodiscard]] sim::streamed_summary const& summary() const noexcept { return summary_; }
};

struct streamed_run {
    char const* policy;
    std::size_t jobs;
    double per_hour;
};

/// The run itself, in the child process. Returns false if it failed.
template <class P>
[[nodiscard]] bool simulate(streamed_run const& run) {
    sim::cluster machines;
    machines.groups.push_back({.nodes = 12'500, .devices = 8});
    sim::rigid_source jobs({.jobs = run.jobs, .jobs_per_hour = run.per_hour});
    policy_adapter<P> policy;
    policy_adapter<policies::none> fallback;
    watch seen(jobs.kinds(), machines);
    auto const ended = sim::simulation(jobs, machines, policy, fallback, {.interval = {}, .observer = &seen}).run();
    if (!ended || ended->rejected + ended->refused_ticks > 0) return false;
    auto const got = seen.summary().result(*ended);
    std::printf("%-6s %9zu jobs, %6.0f an hour, %7zu active at most, mean JCT %9.1f s", run.policy, run.jobs,
                run.per_hour, seen.most_active(), got.mean_jct);
    std::fflush(stdout);
    return got.finished == run.jobs;
}

/// Runs in a child, whose time and memory it prints.
template <class P>
[[nodiscard]] bool run_apart(streamed_run const& run) {
    std::fflush(stdout);
    pid_t const child = ::fork();
    if (child < 0) return false;
    if (child == 0) ::_exit(simulate<P>(run) ? 0 : 1);
    int status = 0;
    rusage use{};
    if (::wait4(child, &status, 0, &use) != child || status != 0) return false;
    double const seconds = static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    std::printf(": %6.1f s, %4.0f MB\n", seconds, static_cast<double>(use.ru_maxrss) / 1024);
    return true;
}

}  // namespace

bool print_streamed_runs() {
    constexpr double overload = 200'000, stable = 20'000;
    for (auto const& [jobs, per_hour] :
         {std::pair<std::size_t, double>{1'000'000, overload}, {1'000'000, stable}, {10'000'000, stable}}) {
        if (!run_apart<policies::fifo>({"fifo", jobs, per_hour})) return false;
        if (!run_apart<policies::las>({"las", jobs, per_hour})) return false;
        if (!run_apart<policies::srtf>({"srtf", jobs, per_hour})) return false;
    }
    return true;
}

}  // namespace ration::bench
