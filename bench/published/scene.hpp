// SPDX-License-Identifier: BSL-1.0
// What the programs and the tests of published results share: a table, and what has to hold of it.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <ration/assert.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/sim/simulation.hpp>

namespace published {

using namespace ration;

/// One statement about a run, and whether it came out.
struct claim {
    std::string what;
    bool holds = false;
};

/// The table of one published result and what is claimed of it.
class findings {
    std::string table_;
    std::vector<claim> claims_;

public:
    [[nodiscard]] std::string const& table() const noexcept { return table_; }
    [[nodiscard]] std::vector<claim> const& claims() const noexcept { return claims_; }

    void expect(bool holds, std::string what) { claims_.push_back({std::move(what), holds}); }

    /// Adds to the table, as printf would.
    [[gnu::format(printf, 2, 3)]] void print(char const* format, ...) {
        char line[512];
        std::va_list values;
        va_start(values, format);
        std::vsnprintf(line, sizeof line, format, values);
        va_end(values);
        table_ += line;
    }
};

/// Prints all; the exit code: 0 when every claim holds.
[[nodiscard]] inline int conclude(findings const& found) {
    std::printf("%s\n", found.table().c_str());
    bool all = true;
    for (auto const& c : found.claims()) {
        std::printf("%-5s %s\n", c.holds ? "ok" : "FALSE", c.what.c_str());
        all = all && c.holds;
    }
    return all ? 0 : 1;
}

/// A figure of several seeds. The range of five holds the median of all seeds with 94 %, that of twenty with more
/// than 99.99 %.
struct over_seeds {
    double median = 0, least = 0, most = 0;

    explicit over_seeds(std::vector<double> values) {
        std::sort(values.begin(), values.end());
        std::size_t const half = values.size() / 2;
        median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
        least = values.front();
        most = values.back();
    }
    /// "1.5 (1.2 to 1.9)"
    [[nodiscard]] std::string text(int digits) const {
        char all[100];
        std::snprintf(all, sizeof all, "%.*f (%.*f to %.*f)", digits, median, digits, least, digits, most);
        return all;
    }
};

[[nodiscard]] inline sim::cluster nodes_of(std::size_t nodes, std::int64_t devices) {
    sim::cluster c;
    c.groups.push_back({.nodes = nodes, .devices = devices});
    return c;
}

/// The run, which has to succeed, and in which no grant may break a rule.
[[nodiscard]] inline sim::run_outcome simulate(sim::workload const& jobs, sim::cluster const& machines,
                                               any_policy& policy, sim::sim_options const& options = {.interval = {}}) {
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, policy, fallback, options);
    auto outcome = run.run();
    RATION_ASSERT(outcome, "the simulation of a published result cannot be set up");
    if (auto const& bad = outcome->first_bad)
        std::fprintf(stderr, "%s: tick %llu: a grant of %lld of resource %u to job %llu breaks the rule '%s'\n",
                     policy.about().id.data(), static_cast<unsigned long long>(bad->tick),
                     static_cast<long long>(bad->row.amount), static_cast<unsigned>(bad->row.resource),
                     static_cast<unsigned long long>(bad->job), name_of(bad->rule).data());
    RATION_ASSERT(outcome->rejected + outcome->refused_ticks == 0, "a policy granted what the rules do not allow");
    return std::move(outcome).value();
}
template <Policy P>
[[nodiscard]] sim::run_outcome simulate(sim::workload const& jobs, sim::cluster const& machines, P const& rule,
                                        sim::sim_options const& options = {.interval = {}}) {
    policy_adapter<P> policy(rule);
    return simulate(jobs, machines, static_cast<any_policy&>(policy), options);
}

/// When a job was done, in seconds; below 0: never.
[[nodiscard]] inline double finished(sim::run_outcome const& run, std::size_t job) noexcept {
    return to_seconds(run.jobs[job].finished);
}

}  // namespace published
