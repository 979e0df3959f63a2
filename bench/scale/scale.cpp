// SPDX-License-Identifier: BSL-1.0
// The cost of an event of a simulation as jobs and nodes become more, in time of the processor. Each policy that
// follows changes runs beside the same rule as a full recomputation, and both have to give the same schedule.
//   bench.scale             the tables of active jobs, nodes, whole runs and streams of jobs
//   bench.scale events      the tables of active jobs and nodes
//   bench.scale short       the smallest rows only
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
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

/// Measures from the arrival of one job to that of another one, or to the end of the run if that does not arrive.
class stopwatch final : public sim::run_observer {
    std::uint64_t first_, last_;
    std::uint64_t events_ = 0;  // arrivals and ends
    double start_, seconds_ = -1;

public:
    stopwatch(std::uint64_t first, std::uint64_t last) : first_(first), last_(last), start_(processor_seconds()) {}

    void submitted(nanoseconds, std::uint64_t job) noexcept override {
        count();
        if (job == last_) seconds_ = processor_seconds() - start_;
        if (job != first_) return;
        start_ = processor_seconds();
        events_ = 1;
    }
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override { count(); }
    [[nodiscard]] double seconds() const { return seconds_ < 0 ? processor_seconds() - start_ : seconds_; }
    [[nodiscard]] std::uint64_t events() const { return events_; }

private:
    void count() noexcept { events_ += seconds_ < 0 ? 1 : 0; }
};

struct measured {
    sim::run_outcome outcome;
    double seconds = 0;
    std::uint64_t events = 0;  // in that time

    [[nodiscard]] double microseconds_an_event() const { return seconds * 1e6 / static_cast<double>(events); }
};

[[nodiscard]] measured simulate(sim::workload const& jobs, sim::cluster const& machines, maker const& policy,
                                std::uint64_t first, std::uint64_t last, nanoseconds limit) {
    auto const asked = policy();
    policy_adapter<policies::none> fallback;
    stopwatch watch(first, last);
    sim::simulation run(jobs, machines, *asked, fallback, {.interval = {}, .limit = limit, .observer = &watch});
    auto outcome = run.run();
    if (!outcome) stop(outcome.failure().subject.c_str());
    if (outcome->rejected + outcome->refused_ticks > 0) stop("a policy granted what the rules do not allow");
    return {std::move(outcome).value(), watch.seconds(), watch.events()};
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

/// `backlog` jobs at the begin, and then the others, evenly over `duration`.
[[nodiscard]] sim::workload backlog_of(std::size_t backlog, std::size_t more, double duration) {
    auto jobs = sim::make_rigid({.jobs = backlog + more}, {.most_devices = 8});
    double const period = duration / static_cast<double>(more);
    for (std::size_t i = 0; i < jobs.jobs.size(); ++i)
        jobs.jobs[i].submitted = seconds(i < backlog ? 0 : period * static_cast<double>(i - backlog + 1));
    return jobs;
}

struct size {
    std::size_t active, nodes;
};

/// Arrivals for each node in `duration`: about as many jobs as end, so that the number of active jobs and the parts of
/// arrivals and ends are the same on any cluster.
constexpr double arrivals_of_a_node = 7, duration = 2000;
constexpr std::size_t repetitions = 5;

struct event_cost {
    double changed = 0, full = 0;  // us
};

/// The time is measured from the second arrival to the last one. At the first one, some policies make their order of
/// all jobs, since the decision before it had no list of changes; the end of a run writes the outcomes of all. The
/// least of several runs is the least disturbed one. The full recomputation runs for a shorter time on more nodes, so
/// that it has as many events on each cluster.
[[nodiscard]] event_cost cost_of_event(pair_of_policies const& policies, size const& at) {
    auto const more = static_cast<std::size_t>(arrivals_of_a_node * static_cast<double>(at.nodes));
    auto const jobs = backlog_of(at.active, more, duration);
    auto const machines = nodes_of(at.nodes, 8);
    auto const measure = [&](maker const& policy, std::size_t arrivals) {
        auto const until = jobs.jobs[at.active + arrivals - 1].submitted;
        return simulate(jobs, machines, policy, at.active + 2, at.active + arrivals, until);
    };
    std::size_t const compared = std::min<std::size_t>(more, static_cast<std::size_t>(100 * arrivals_of_a_node));
    auto const full = measure(policies.all, compared);
    compare(policies.name, measure(policies.changed, compared).outcome, full.outcome);
    event_cost cost{.changed = std::numeric_limits<double>::infinity(), .full = full.microseconds_an_event()};
    for (std::size_t i = 0; i < repetitions; ++i)
        cost.changed = std::min(cost.changed, measure(policies.changed, more).microseconds_an_event());
    return cost;
}

/// `sizes`: first with more and more active jobs on the same nodes, then with more and more nodes for these jobs.
void print_events(std::vector<size> const& sizes) {
    std::printf("%-7s %10s %8s %14s %18s\n", "policy", "active", "nodes", "us an event", "full recomputation");
    std::string factors;
    for (auto const& policies : policies_to_compare()) {
        std::vector<double> costs;
        std::size_t corner = 0;  // the last size with the first number of nodes
        for (auto const& at : sizes) {
            auto const cost = cost_of_event(policies, at);
            std::printf("%-7s %10zu %8zu %14.2f %18.2f\n", policies.name, at.active, at.nodes, cost.changed, cost.full);
            std::fflush(stdout);
            if (at.nodes == sizes.front().nodes) corner = costs.size();
            costs.push_back(cost.changed);
        }
        char line[160];
        std::snprintf(line, sizeof line, "%-7s active jobs %zu to %zu: %.1f, nodes %zu to %zu: %.1f\n", policies.name,
                      sizes.front().active, sizes[corner].active, costs[corner] / costs.front(), sizes.front().nodes,
                      sizes.back().nodes, costs.back() / costs[corner]);
        factors += line;
    }
    std::printf("The cost of an event grows by this factor:\n%s", factors.c_str());
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
    constexpr std::uint64_t none = 0;
    for (auto const& [name, changed, all] : policies_to_compare()) {
        // Between two ends of jobs, a draw can pass many jobs that do not fit.
        if (!with_full && (name == std::string("pack") || name == std::string("spread"))) continue;
        auto const mine = simulate(made, machines, changed, 1, none, forever);
        std::printf("%-7s %9zu jobs, %6.0f an hour, %zux%lld: %7.3f s, %.0f MB", name, jobs, per_hour, nodes,
                    static_cast<long long>(devices), mine.seconds, megabytes());
        if (with_full) {
            auto const full = simulate(made, machines, all, 1, none, forever);
            compare(name, mine.outcome, full.outcome);
            std::printf("; full recomputation %.3f s", full.seconds);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::string const part = argc > 1 ? argv[1] : "";
    bool const is_short = part == "short";
    // First, since a child process begins with the memory of this one.
    if (part.empty() && !bench::print_streamed_runs()) stop("a run of a stream failed");
    if (is_short)
        print_events({{1000, 100}, {2000, 100}, {2000, 200}});
    else
        print_events({{1000, 100}, {10'000, 100}, {100'000, 100}, {100'000, 1000}, {100'000, 10'000}});
    if (part == "events") return 0;
    print_runs(is_short ? 1000 : 20'000, 20'000, 256, 4, true);
    if (is_short) return 0;
    print_runs(20'000, 20'000, 1250, 8, true);
    print_runs(1'000'000, 200'000, 12'500, 8, false);
}
