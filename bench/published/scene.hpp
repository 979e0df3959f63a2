// SPDX-License-Identifier: BSL-1.0
// Common parts of the programs and the tests of simulated published results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

#include <ration/assert.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/sim/simulation.hpp>

#include "findings.hpp"

namespace published {

using namespace ration;

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
