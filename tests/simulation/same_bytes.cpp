// SPDX-License-Identifier: BSL-1.0
// The same input gives the same bytes, whatever compiler and however optimised: these sums were taken with g++ 12 -O0
// and -O3 and clang 19 -O2.
#include <cstdint>

#include <ration/policies/fifo.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/sim/generator.hpp>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;

namespace {

/// FNV-1a over when each job started and ended, how often it was restarted, and how many ticks there were.
template <class P>
[[nodiscard]] std::uint64_t sum_of(sim::workload const& jobs, P const& of = {}) {
    policy_adapter<P> policy{of};
    policy_adapter<policies::fifo> fallback;
    auto const machines = nodes_of(8, 8);
    sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(60), .seed = 5});
    auto const outcome = run.run();
    RATION_ASSERT(outcome && outcome->how == sim::ending::all_done, "a test's premise does not hold");
    std::uint64_t sum = 0xCBF29CE484222325u;
    auto const add = [&](std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) sum = (sum ^ (value >> (8 * byte) & 0xFF)) * 0x100000001B3u;
    };
    for (auto const& job : outcome->jobs) {
        add(static_cast<std::uint64_t>(job.started.count));
        add(static_cast<std::uint64_t>(job.finished.count));
        add(job.restarts);
    }
    add(outcome->ticks);
    return sum;
}

}  // namespace

TEST_CASE("the same bytes on every machine: rigid jobs", "[sim][bytes]") {
    auto const jobs = sim::make_rigid({.seed = 3, .jobs = 600, .jobs_per_hour = 12}, {});
    CHECK(sum_of<policies::fifo>(jobs) == 0xF3755ED5E6BE9A17u);
    CHECK(sum_of<policies::srtf>(jobs) == 0x6A8AC240C2900055u);
    CHECK(sum_of<policies::las>(jobs) == 0xFA4799DD3D530CF8u);
}

TEST_CASE("the same bytes on every machine: elastic jobs", "[sim][bytes]") {
    auto const jobs = sim::make_scaling({.seed = 3, .jobs = 150, .jobs_per_hour = 20});
    CHECK(sum_of(jobs, policies::pollux({.at_changes = false})) == 0xDDDF22F4FE1455B0u);
    CHECK(sum_of(jobs, policies::good_enough({.at_changes = false})) == 0x2C6CA5D1B89407D3u);
}
