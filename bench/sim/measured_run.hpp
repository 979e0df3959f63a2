// SPDX-License-Identifier: BSL-1.0
/// One simulation of a named policy, and the time that it takes. For `bench.sim`.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <ration/host/any_policy.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/sim/simulation.hpp>

namespace ration::bench {

struct named_policy {
    char const* name;
    std::function<std::unique_ptr<any_policy>()> make;
};

template <class P>
[[nodiscard]] named_policy named(char const* name, P const& p = {}) {
    return {name, [p] { return std::make_unique<policy_adapter<P>>(p); }};
}

[[nodiscard]] inline double processor_seconds() noexcept {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

[[noreturn]] inline void stop(std::string const& why) {
    std::fprintf(stderr, "bench.sim: %s\n", why.c_str());
    std::exit(1);
}

[[nodiscard]] inline sim::cluster nodes_of(std::size_t nodes, std::int64_t devices) {
    sim::cluster c;
    c.groups.push_back({.nodes = nodes, .devices = devices});
    return c;
}

struct measured {
    sim::run_outcome outcome;
    double seconds = 0;
};

/// Through the interface that plugins are called by. Rounds only for policies that need them.
[[nodiscard]] inline measured simulate(sim::workload const& jobs, sim::cluster const& machines, named_policy const& p,
                                       sim::sim_options const& how = {.interval = seconds(0)}) {
    double const start = processor_seconds();
    auto const policy = p.make();
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, *policy, fallback, how);
    auto outcome = run.run();
    if (!outcome) stop(std::string(p.name) + ": " + outcome.failure().subject.c_str());
    if (outcome->rejected + outcome->refused_ticks > 0)
        stop(std::string(p.name) + " made a grant that the rules do not allow");
    return {std::move(outcome).value(), processor_seconds() - start};
}

}  // namespace ration::bench
