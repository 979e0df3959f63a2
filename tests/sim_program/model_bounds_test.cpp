// SPDX-License-Identifier: BSL-1.0
// The bounds against runs of elastic jobs: those with measured profiles, and those of the parametric models.
#include <ration/policies/afs.hpp>
#include <ration/policies/elastic_batch_dp.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/sia.hpp>
#include <ration/sim/generator.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/trace/read.hpp>

#include "instances.hpp"
#include "support/catch.hpp"

using namespace sim_program;

namespace {

/// All but the largest application, which asks for more devices than the clusters here have.
[[nodiscard]] model_library applications() {
    auto read = load_profiles(RATION_BENCH_DATA "/pollux", {});
    REQUIRE(read);
    std::erase_if(*read, [](named_model const& m) { return m.name == "imagenet"; });
    return *read;
}

template <class... P>
void none_beats_the_bounds(workload const& jobs, cluster const& machines) {
    auto const least = limits_of(jobs, machines);
    auto const check = [&]<class One>(One const&) {
        INFO(One::about.id);
        CHECK(beaten(least, jobs, machines, run<One>(jobs, machines, {}, {.interval = seconds(60)})) == "");
    };
    (check(P()), ...);
}

void no_policy_beats_the_bounds(workload const& jobs, cluster const& machines) {
    namespace p = policies;
    none_beats_the_bounds<p::fifo, p::sjf, p::srtf, p::las, p::gittins, p::afs, p::optimus, p::pollux, p::sia,
                          p::good_enough>(jobs, machines);
}

}  // namespace

TEST_CASE("no policy beats the bounds on jobs with measured profiles") {
    auto const library = applications();
    for (std::uint64_t const seed : {1, 2, 3}) {
        auto const jobs = make_profiled({.seed = seed, .jobs = 16, .jobs_per_hour = 12}, library);
        CAPTURE(seed);
        no_policy_beats_the_bounds(jobs, of_nodes(4, 4));
        none_beats_the_bounds<policies::max_min>(jobs, of_nodes(4, 4));
    }
}

TEST_CASE("a job with a measured profile that is alone is done no sooner than it needs") {
    auto const library = applications();
    auto const machines = of_nodes(4, 4);
    for (auto const& application : library) {
        workload jobs = make_profiled({.seed = 1, .jobs = 1}, {application});
        INFO(application.name);
        jobs.jobs[0].submitted = {};
        auto const least = needs_of(jobs, machines)[0].seconds;
        auto const ran = run<policies::optimus>(jobs, machines, {}, {.interval = seconds(60)});
        double const took = to_seconds(ran.jobs[0].finished);
        CHECK(took >= least - rounding);
        CHECK(took < 2 * least);  // and the bound is not trivial
    }
}

// Without max_min: it gives single devices, and a batch that does not fit on one makes no progress there.
TEST_CASE("no policy beats the bounds on jobs with parametric models") {
    for (std::uint64_t const seed : {1, 2, 3}) {
        CAPTURE(seed);
        auto const jobs = make_scaling({.seed = seed, .jobs = 30, .jobs_per_hour = 20});
        no_policy_beats_the_bounds(jobs, of_nodes(4, 4));
        none_beats_the_bounds<policies::elastic_batch_dp>(jobs, of_nodes(1, 16));
    }
}

TEST_CASE("the bound on a published workload counts the limited speeds of its jobs") {
    auto const library = load_profiles(RATION_BENCH_DATA "/pollux", {});
    REQUIRE(library);
    auto const jobs = trace::read_file(RATION_BENCH_DATA "/pollux/workload-2.csv", *library);
    REQUIRE(jobs);
    // 938 s if each job is alone, 2600 s with good_enough
    CHECK(limits_of(*jobs, of_nodes(16, 4)).mean_jct > 1600);
}
