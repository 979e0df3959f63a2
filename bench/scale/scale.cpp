// SPDX-License-Identifier: BSL-1.0
// What an event of a simulation costs as jobs and nodes become more, in time of the processor. Each policy that follows
// changes runs beside the same rule as a full recomputation, and both have to give the same schedule.
//   bench.scale             the tables of active jobs, nodes, whole runs and streams of jobs
//   bench.scale short       the smallest rows only
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <ration/policies/drf.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/simulation.hpp>

#include "every_row.hpp"
#include "full_learners.hpp"
#include "full_recomputation.hpp"
#include "streamed.hpp"

namespace {

using namespace ration;

using maker = std::function<std::unique_ptr<any_policy>()>;
struct pair_of_policies {
    char const* name;
    maker changed, all;
};

template <class P>
[[nodiscard]] std::unique_ptr<any_policy> make() {
    return std::make_unique<policy_adapter<P>>();
}

[[nodiscard]] std::vector<pair_of_policies> policies_to_compare() {
    return {
        {"fifo", make<policies::fifo>, make<bench::full_fifo>},
        {"las", make<policies::las>, make<bench::full_las>},
        {"srtf", make<policies::srtf>, make<bench::full_srtf>},
        {"gang", make<policies::gang>, make<bench::full_gang>},
        {"pack", make<policies::pack>, make<bench::full_learners<policies::learner_placement::pack>>},
        {"spread", make<policies::spread>, make<bench::full_learners<policies::learner_placement::spread>>},
        {"drf", make<policies::drf>, [] { return std::make_unique<bench::every_row<policies::drf>>(); }},
        {"max_min", make<policies::max_min>, [] { return std::make_unique<bench::every_row<policies::max_min>>(); }}};
}

[[nodiscard]] double processor_seconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

[[noreturn]] void stop(std::string const& why) {
    std::fprintf(stderr, "bench.scale: %s\n", why.c_str());
    std::exit(1);
}

/// Begins to measure at the arrival of one job.
class stopwatch final : public sim::run_observer {
    std::uint64_t first_;
    std::uint64_t ended_ = 0;
    double start_;

public:
    explicit stopwatch(std::uint64_t first) : first_(first), start_(processor_seconds()) {}

    void submitted(nanoseconds, std::uint64_t job) noexcept override {
        if (job != first_) return;
        start_ = processor_seconds();
        ended_ = 0;
    }
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override { ++ended_; }
    [[nodiscard]] double seconds() const { return processor_seconds() - start_; }
    [[nodiscard]] std::uint64_t ended() const { return ended_; }
};

struct measured {
    sim::run_outcome outcome;
    double seconds = 0;
    std::uint64_t events = 0;  // in that time
};

[[nodiscard]] measured simulate(sim::workload const& jobs, sim::cluster const& machines, maker const& policy,
                                std::uint64_t first, nanoseconds limit) {
    auto const asked = policy();
    policy_adapter<policies::none> fallback;
    stopwatch watch(first);
    sim::simulation run(jobs, machines, *asked, fallback, {.interval = {}, .limit = limit, .observer = &watch});
    auto outcome = run.run();
    if (!outcome) stop(outcome.failure().subject.c_str());
    if (outcome->rejected + outcome->refused_ticks > 0) stop("a policy granted what the rules do not allow");
    return {std::move(outcome).value(), watch.seconds(), watch.ended() + jobs.jobs.size() - first + 1};
}

/// Ends unless both runs started and ended each job at the same times.
void compare(char const* policy, sim::run_outcome const& a, sim::run_outcome const& b) {
    for (std::size_t i = 0; i < a.jobs.size(); ++i)
        if (a.jobs[i].started != b.jobs[i].started || a.jobs[i].finished != b.jobs[i].finished ||
            a.jobs[i].restarts != b.jobs[i].restarts)
            stop(std::string(policy) + ": job " + std::to_string(i + 1) +
                 " has another schedule than in the full recomputation");
}

[[nodiscard]] sim::cluster nodes_of(std::size_t nodes, std::int64_t devices) {
    sim::cluster c;
    c.groups.push_back({.nodes = nodes, .devices = devices});
    return c;
}

/// `backlog` jobs at the begin, and then `more` jobs, one each second.
[[nodiscard]] sim::workload backlog_of(std::size_t backlog, std::size_t more) {
    auto jobs = sim::make_rigid({.jobs = backlog + more}, {.most_devices = 8});
    for (std::size_t i = 0; i < jobs.jobs.size(); ++i)
        jobs.jobs[i].submitted = seconds(i < backlog ? 0 : static_cast<double>(i - backlog + 1));
    return jobs;
}

struct size {
    std::size_t active, nodes;
};

/// `more` jobs arrive. The time is measured from the second of them on: at the first one, some policies make their
/// order of all jobs, since the decision before it had no list of changes.
void print_events(std::vector<size> const& sizes, std::size_t more) {
    std::printf("%-7s %10s %8s %14s %18s\n", "policy", "active", "nodes", "us an event", "full recomputation");
    for (auto const& [name, changed, all] : policies_to_compare())
        for (auto const& [active, nodes] : sizes) {
            auto const jobs = backlog_of(active, more);
            auto const machines = nodes_of(nodes, 8);
            auto const limit = seconds(static_cast<double>(more));
            auto const mine = simulate(jobs, machines, changed, active + 2, limit);
            auto const full = simulate(jobs, machines, all, active + 2, limit);
            compare(name, mine.outcome, full.outcome);
            std::printf("%-7s %10zu %8zu %14.2f %18.2f\n", name, active, nodes,
                        mine.seconds * 1e6 / static_cast<double>(mine.events),
                        full.seconds * 1e6 / static_cast<double>(full.events));
            std::fflush(stdout);
        }
}

[[nodiscard]] double megabytes() noexcept {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_maxrss) / 1024;
}

/// Whole runs of generated jobs.
void print_runs(std::size_t jobs, double per_hour, std::size_t nodes, std::int64_t devices, bool with_full) {
    auto const made = sim::make_rigid({.jobs = jobs, .jobs_per_hour = per_hour});
    auto const machines = nodes_of(nodes, devices);
    nanoseconds const forever{std::numeric_limits<std::int64_t>::max()};
    for (auto const& [name, changed, all] : policies_to_compare()) {
        // Between two ends of jobs, a draw can pass many jobs that do not fit.
        if (!with_full && (name == std::string("pack") || name == std::string("spread"))) continue;
        auto const mine = simulate(made, machines, changed, 1, forever);
        std::printf("%-7s %9zu jobs, %6.0f an hour, %zux%lld: %7.3f s, %.0f MB", name, jobs, per_hour, nodes,
                    static_cast<long long>(devices), mine.seconds, megabytes());
        if (with_full) {
            auto const full = simulate(made, machines, all, 1, forever);
            compare(name, mine.outcome, full.outcome);
            std::printf("; full recomputation %.3f s", full.seconds);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    bool const is_short = argc > 1 && std::strcmp(argv[1], "short") == 0;
    // First, since a child process begins with the memory of this one.
    if (!is_short && !bench::print_streamed_runs()) stop("a run of a stream failed");
    if (is_short)
        print_events({{1000, 100}, {2000, 100}}, 400);
    else
        print_events({{1000, 100}, {10'000, 100}, {100'000, 100}, {100'000, 1000}, {100'000, 10'000}}, 2000);
    print_runs(is_short ? 1000 : 20'000, 20'000, 256, 4, true);
    if (is_short) return 0;
    print_runs(20'000, 20'000, 1250, 8, true);
    print_runs(1'000'000, 200'000, 12'500, 8, false);
}
