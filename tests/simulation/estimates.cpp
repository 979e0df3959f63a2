// SPDX-License-Identifier: BSL-1.0
// Policies that read speeds which an estimator computes from the reports of simulated jobs.
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include <ration/estimators/speed.hpp>
#include <ration/host/estimator_stage.hpp>
#include <ration/policies/afs.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/parametric_model.hpp>

#include "sim/estimate_cost.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;

namespace {

/// The unfinished jobs of a run with estimated speeds.
[[nodiscard]] std::size_t unfinished(sim::workload const& jobs, sim::cluster const& machines, any_policy& policy) {
    constexpr std::array<std::string_view, 3> unfilled{"jobs/goodput", "jobs/goodput.fixed", "jobs/speedup"};
    estimator_adapter<estimators::speed> speed;
    std::array<any_estimator*, 1> const all{&speed};
    estimator_stage stage({.available = all, .unfilled = unfilled});
    policy_adapter<policies::fifo> fallback;
    sim::simulation run(jobs, machines, policy, fallback, {.interval = seconds(15), .estimators = &stage});
    auto const outcome = run.run();
    REQUIRE(outcome);
    std::size_t count = 0;
    for (auto const& job : outcome->jobs) count += job.finished.count < 0;
    return count;
}

}  // namespace

// A batch of 128 does not fit on one device, which is the minimum of most of these jobs. Whether they run there must be
// seen from device-seconds that are up to date, which no policy of this test reads.
TEST_CASE("estimated speeds: jobs whose batch needs more than their fewest devices all end", "[sim]") {
    auto const jobs = sim::make_scaling({.seed = 1, .jobs = 12, .jobs_per_hour = 30}, {.most_devices = 4});
    auto const machines = nodes_of(1, 4);
    policy_adapter<policies::optimus> optimus;
    CHECK(unfinished(jobs, machines, optimus) == 0);
    policy_adapter<policies::afs> afs;
    CHECK(unfinished(jobs, machines, afs) == 0);
}

TEST_CASE("estimated speeds: a job whose batch is smaller than its most devices ends", "[sim]") {
    auto jobs = sim::make_scaling({.seed = 1, .jobs = 1, .jobs_per_hour = 30}, {.most_devices = 16});
    jobs.models.assign(4, std::make_shared<sim::parametric_model>(sim::data_parallel{
                              .sample_seconds = .01, .least_batch = 6, .most_batch = 6, .most_local_batch = 6}));
    jobs.jobs[0].batch = 6;
    jobs.jobs[0].length = 2e6;
    policy_adapter<policies::optimus> optimus;
    CHECK(unfinished(jobs, nodes_of(4, 4), optimus) == 0);
}

// The short form of `bench.sim estimates`. Jobs of this kind scale the same from start to end.
TEST_CASE("estimated speeds: exact ratios cost little, and assumed ones more", "[sim]") {
    auto const machines = nodes_of(4, 4);
    auto const jobs = sim::make_scaling({.seed = 2, .jobs = 24, .jobs_per_hour = 30});
    auto const mean = [&](bench::knowledge const& known) {
        return bench::mean_jct_of(jobs, machines, known, false, 2);
    };
    double const all = mean({"", true}), none = mean({""});
    using part = bench::exact_part;
    CHECK(mean({"", false, part::shape}) == mean({"", false, part::first_shape}));
    CHECK(mean({"", false, part::shape}) < all * 1.05);
    CHECK(none > all * 1.05);
}
