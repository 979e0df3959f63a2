// SPDX-License-Identifier: BSL-1.0
// The cost of a decision while many jobs of many tenants wait, in time of the processor, and of a waiting job in
// memory. The rule of fair_queue on a plain sorted list is the baseline, and has to give the same schedule. Also the
// cost of the reason why a job of the service waits.
//   bench.service.queue          1000 tenants, 100 000 waiting jobs
//   bench.service.queue short    100 tenants, 2000 waiting jobs; only compares the schedules
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <ration/policies/fair_queue.hpp>
#include <ration/policies/fair_tree.hpp>
#include <ration/policies/none.hpp>
#include <ration/sim/rng.hpp>
#include <ration/sim/simulation.hpp>

#include "reason.hpp"
#include "sorted_queue.hpp"

namespace {

using namespace ration;

constexpr double most_microseconds = 20, most_bytes = 1024, most_reason = 1000;

[[nodiscard]] double processor_seconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

[[noreturn]] void stop(std::string const& why) {
    std::fprintf(stderr, "bench.service.queue: %s\n", why.c_str());
    std::exit(1);
}

/// Resident memory in bytes.
[[nodiscard]] double resident() {
    std::ifstream in("/proc/self/statm");
    double pages = 0;
    in >> pages >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Measures each decision that starts a job, from `begin` on.
class timed_policy final : public any_policy {
    any_policy& policy_;
    std::vector<double> took_;
    bool measures_ = false;

public:
    explicit timed_policy(any_policy& policy) : policy_(policy) {}
    void begin() {
        took_.reserve(100'000);
        measures_ = true;
    }
    /// Seconds, ascending.
    [[nodiscard]] std::vector<double> sorted() const {
        auto all = took_;
        std::ranges::sort(all);
        return all;
    }

    [[nodiscard]] meta const& about() const noexcept override { return policy_.about(); }
    [[nodiscard]] result<void> bind(std::span<column_info const> schema, limits const& most) noexcept override {
        return policy_.bind(schema, most);
    }
    [[nodiscard]] bool reads(std::string_view column) const noexcept override { return policy_.reads(column); }
    [[nodiscard]] bool follows_changes() const noexcept override { return policy_.follows_changes(); }
    [[nodiscard]] status decide(tick_data const& t, grants& out) noexcept override {
        double const start = processor_seconds();
        status const reply = policy_.decide(t, out);
        if (measures_ && !out.rows().empty()) took_.push_back(processor_seconds() - start);
        return reply;
    }
};

struct size {
    std::uint32_t tenants;
    std::size_t waiting, changes;
};

/// As many devices as tenants, all of which are held, and a backlog. Then a job arrives each second, and jobs end.
[[nodiscard]] sim::workload jobs_of(size const& s) {
    sim::workload w;
    w.models.push_back(std::make_shared<sim::rigid_model>());
    for (std::uint32_t t = 0; t < s.tenants; ++t) w.tenants.push_back("tenant-" + std::to_string(t));
    sim::rng const of(1);
    std::size_t const backlog = s.waiting + s.tenants;
    for (std::size_t j = 0; j < backlog + s.changes; ++j)
        w.jobs.push_back({.submitted = seconds(j < backlog ? 0 : static_cast<double>(j - backlog + 1)),
                          .request = 1,
                          .least = 1,
                          .most = 1,
                          .length = static_cast<double>(s.tenants) * of.exponential(j) + 1});
    for (std::size_t j = 0; j < w.jobs.size(); ++j) w.jobs[j].tenant = of.below(s.tenants, j);
    return w;
}

/// Measures from the first arrival after the backlog.
class backlog_watch final : public sim::run_observer {
    timed_policy& policy_;
    std::uint64_t first_;
    double start_;

public:
    double bytes = 0, seconds = 0;  ///< of the backlog; of the events after it
    std::uint64_t events = 0;

    backlog_watch(timed_policy& policy, std::uint64_t first) : policy_(policy), first_(first), start_(resident()) {}
    void submitted(nanoseconds, std::uint64_t job) noexcept override {
        if (job == first_) {
            bytes = resident() - start_;
            start_ = processor_seconds();
            policy_.begin();
        }
        if (job >= first_) note();
    }
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    void finished(nanoseconds, std::uint64_t) noexcept override {
        if (events > 0) note();
    }

private:
    void note() noexcept {
        ++events;
        seconds = processor_seconds() - start_;
    }
};

struct measured {
    sim::run_outcome outcome;
    double median = 0, p99 = 0, event = 0;  ///< microseconds
    double bytes = 0;                       ///< for each waiting job
};

template <Policy P>
[[nodiscard]] measured run_with(sim::workload const& jobs, size const& s) {
    policy_adapter<P> asked;
    timed_policy policy(asked);
    policy_adapter<policies::none> fallback;
    sim::cluster machines;
    machines.groups.push_back({.nodes = 1, .devices = static_cast<std::int64_t>(s.tenants)});
    backlog_watch watch(policy, s.waiting + s.tenants + 1);
    sim::simulation run(jobs, machines, policy, fallback,
                        {.interval = {}, .limit = seconds(static_cast<double>(s.changes)), .observer = &watch});
    auto outcome = run.run();
    if (!outcome) stop(outcome.failure().subject.c_str());
    if (outcome->rejected + outcome->refused_ticks > 0) stop("a policy granted what the rules do not allow");
    auto const took = policy.sorted();
    return {std::move(outcome).value(), took[took.size() / 2] * 1e6, took[took.size() * 99 / 100] * 1e6,
            watch.seconds * 1e6 / static_cast<double>(watch.events), watch.bytes / static_cast<double>(s.waiting)};
}

/// Ends unless both runs started each job at the same time.
void compare(sim::run_outcome const& a, sim::run_outcome const& b) {
    for (std::size_t i = 0; i < a.jobs.size(); ++i)
        if (a.jobs[i].started != b.jobs[i].started)
            stop("job " + std::to_string(i + 1) + " starts at another time than with the sorted list");
}

void print(char const* name, measured const& m) {
    std::printf("| %s | %.1f | %.1f | %.1f | %.0f |\n", name, m.median, m.p99, m.event, m.bytes);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    bool const is_short = argc > 1 && std::strcmp(argv[1], "short") == 0;
    size const s = is_short ? size{100, 2000, 400} : size{1000, 100'000, 2000};
    auto const jobs = jobs_of(s);
    std::printf("%u tenants, %zu waiting jobs, %zu arrivals\n\n", s.tenants, s.waiting, s.changes);
    std::printf(
        "| queue | decision: median in us | p99 in us | event with the engine: us | bytes for each waiting job |\n");
    std::printf("|---|---|---|---|---|\n");
    auto const turns = run_with<policies::fair_queue>(jobs, s);
    print("`fair_queue`", turns);
    auto const tree = run_with<policies::fair_tree>(jobs, s);
    print("`fair_tree`", tree);
    auto const list = run_with<bench::sorted_queue>(jobs, s);
    print("sorted list", list);
    compare(turns.outcome, list.outcome);
    double const reason = bench::reason_microseconds(s.tenants, s.waiting);
    std::printf("\nreason why a job of the service waits: %.0f us, median\n", reason);
    if (is_short) return 0;  // the fixed part of the memory is too large a share
    bool const holds =
        std::max(turns.median, tree.median) <= most_microseconds && std::max(turns.bytes, tree.bytes) <= most_bytes;
    std::printf("\n%-5s the median decision takes at most %.0f us, and a waiting job %.0f bytes\n",
                holds ? "ok" : "FALSE", most_microseconds, most_bytes);
    std::printf("%-5s the median reason takes at most %.0f us\n", reason <= most_reason ? "ok" : "FALSE", most_reason);
    return holds && reason <= most_reason ? 0 : 1;
}
