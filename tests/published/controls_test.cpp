// SPDX-License-Identifier: BSL-1.0
// Each published.* command with its control broken on purpose: it fails the claims about the control, no others, and
// exits with 1. live_controls_test.py has the commands that run jobs.
#include <functional>
#include <string>
#include <vector>

#include "published/ai4dl_scenario.hpp"
#include "published/cm_dare_scenario.hpp"
#include "published/elastic.hpp"
#include "published/elastic_rmi.hpp"
#include "published/elasticflow.hpp"
#include "published/ffdl.hpp"
#include "published/perseus.hpp"
#include "published/robus.hpp"
#include "published/sia.hpp"
#include "published/spatial_rnn.hpp"
#include "published/tradl.hpp"
#include "published/virtual_cluster.hpp"
#include "published/wei_shudo.hpp"
#include "support/catch.hpp"

using namespace published;

namespace {

struct broken_control {
    char const* command;
    std::function<findings()> scenario;
    std::vector<std::string> failing;  ///< claims, in order
};

/// Each control on transient servers.
[[nodiscard]] cm_dare_options on_servers(sim::server_lifetime const& transient) {
    return {.control_servers = &transient,
            .saving = {.jobs = 100, .seeds = 2},
            .constant = {.lifetime = transient, .startup = 90}};
}

/// Smaller than the commands where those take long.
[[nodiscard]] std::vector<broken_control> of_schedulers() {
    std::string const data = RATION_BENCH_DATA;
    return {
        {"ffdl",
         [] { return ffdl_scenario({.gang_runs = 5, .placed_runs = 1, .placed_jobs = 4000, .control_learners = 4}); },
         {"control: jobs of one learner never deadlock, gang or not"}},
        {"elastic",
         [] { return elastic_scenario({.devices = 80, .seeds = 1, .whole_sweep = false, .control_fixed = false}); },
         {"control: with batch ranges of one value the schedules are equal to the bit, drop",
          "control: with batch ranges of one value the schedules are equal to the bit, queue",
          "control: with batch ranges of one value the schedules are equal to the bit, drop, saturated",
          "control: with batch ranges of one value the schedules are equal to the bit, queue, saturated"}},
        {"cm_dare",
         [=] { return cm_dare_scenario(data, on_servers(*sim::find_transient_servers("P100", "us-east1"))); },
         {"control: on servers that stay both take the same time to the nanosecond, whatever the seed",
          "control: there that time is work + start + 15 saves",
          "control: with exponential lifetimes both waste the same, within 3 %"}},
        {"ai4dl",
         [=] { return ai4dl_scenario(data, {.seeds = 2, .without_phases = true}); },
         {"repeated phases: at most 0.6 of the CPU with every seed, at 99 % met",
          "repeated phases: at most 0.72 of the memory with every seed, at 99 % met",
          "repeated phases: phase_limits allocates at most 0.75 of the CPU with every seed"}},
        {"sia", [] { return sia_scenario({.control_has_b = true}); }, {"control: without type B each has one A"}},
        {"elasticflow",
         [=] { return elasticflow_scenario(data, {.jobs = 200, .control_times = 1}); },
         {"control: far deadlines are met by every rule"}},
        {"virtual_cluster",
         [] { return virtual_cluster_scenario({.seeds = 1, .control_greedy = 10}); },
         {"control: without greedy tenants, no job of one queue takes more than 0.5 s"}},
        {"wei_shudo",
         [] { return wei_shudo_scenario({.control_contends = true}); },
         {"control: experiment 1, no late phase: all is done later with 3-1 than with 2-2",
          "control: experiment 1, no late phase: 1-3 takes less than 3-1 in total",
          "control: experiment 2, no contention: all is done later with 3-1 than with 2-2"}},
    };
}
[[nodiscard]] std::vector<broken_control> of_machines() {
    std::string const data = RATION_BENCH_DATA;
    return {
        {"tradl",
         [=] { return tradl_scenario({.random_schedules = 5, .control_cores = 4}, (data + "/loss/fits.csv").c_str()); },
         {"control: with a core for each of eight at once, on 8.9, nothing changes, to the bit: the machine is not full"}},
        {"elastic_rmi",
         [] { return elastic_rmi_scenario({.seeds = 3, .control_threshold = 0.8}); },
         {"control: a hook that answers as the thresholds do gives their run, bit for bit"}},
        {"perseus",
         [] { return perseus_scenario({.control_ratio = 0.9, .seeds = 1}); },
         {"control: where one tenant fills the device, sharing it saves less than 1 %"}},
        {"robus",
         [] { return robus_scenario({.seeds = 1, .control_part = 0.5}); },
         {"control: a cache that holds everything serves everything"}},
    };
}

[[nodiscard]] std::vector<std::string> failing_of(findings const& found) {
    std::vector<std::string> out;
    for (auto const& claim : found.claims())
        if (!claim.holds) out.push_back(claim.what);
    return out;
}

void check_all(std::vector<broken_control> const& all) {
    for (auto const& one : all) {
        INFO("published." << one.command);
        auto const found = one.scenario();
        CHECK(failing_of(found) == one.failing);
        CHECK(conclude(found) == 1);
    }
}

}  // namespace

TEST_CASE("a broken control fails its claims and no others, and its command exits with 1", "[published]") {
    check_all(of_schedulers());
    check_all(of_machines());
}

TEST_CASE("spatial RNN: the gain at batch 1 breaks the control", "[published]") {
    findings found;
    spatial_rnn::large_batch(found, {.run_seconds = 0.002, .pairs = 3, .control_batch = 1});
    auto const failing = failing_of(found);
    CHECK(std::ranges::count(failing, "control: at batch 64 at most 1.5 of the gain remains") == 1);
    CHECK(conclude(found) == 1);
}

TEST_CASE("a command whose claims hold exits with 0", "[published]") { CHECK(conclude(sia_scenario()) == 0); }
