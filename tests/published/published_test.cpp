// SPDX-License-Identifier: BSL-1.0
// What is published of the policies here comes out again, and the negative controls too. bench/published prints the
// same in full.
#include <cstdio>
#include <sstream>
#include <string>

#include "page.hpp"
#include "published/cm_dare_scenario.hpp"
#include "published/elastic.hpp"
#include "published/elastic_rmi.hpp"
#include "published/elasticflow.hpp"
#include "published/ffdl.hpp"
#include "published/robus.hpp"
#include "published/sia.hpp"
#include "published/tradl.hpp"
#include "published/virtual_cluster.hpp"
#include "published/wei_shudo.hpp"

using published_test::check_all;
using published_test::section;
using published_test::table_lines;

TEST_CASE("FfDL: gangs do not deadlock, packed learners leave room for large jobs", "[published]") {
    check_all(published::ffdl_scenario({.gang_runs = 20, .placed_runs = 2, .placed_jobs = 4000}));
}

TEST_CASE("elastic batches: about twice as many jobs when saturated, and nothing where no batch may change",
          "[published]") {
    check_all(published::elastic_scenario({.devices = 80, .seeds = 2, .whole_sweep = false}));
}

TEST_CASE("CM-DARE: saturation by medians, measured lifetimes, lost workers; results.md has these tables and no others",
          "[published]") {
    auto const found = published::cm_dare_scenario(RATION_BENCH_DATA);
    check_all(found);
    CHECK(table_lines(section("CM-DARE")) == table_lines(found.table()));
}

TEST_CASE("Sia: the worked example of its table 1", "[published]") { check_all(published::sia_scenario()); }

TEST_CASE(
    "ElasticFlow: every deadline that can be met, admitted jobs in time, and the waste of plain earliest deadline first",
    "[published]") {
    check_all(published::elasticflow_scenario(RATION_BENCH_DATA, {.jobs = 200}));
}

TEST_CASE("VirtualCluster: greedy tenants delay no other with a queue for each tenant, and all with one queue",
          "[published]") {
    check_all(published::virtual_cluster_scenario({.seeds = 1}));
}

TEST_CASE(
    "ElasticRMI: a hook on the service's own state, beside CPU thresholds; results.md has these tables and no others",
    "[published]") {
    auto const found = published::elastic_rmi_scenario();
    check_all(found);
    CHECK(table_lines(section("ElasticRMI")) == table_lines(found.table()));
}

TEST_CASE(
    "ROBUS: a cache that serves tenants fairly and nearly as the optimum; results.md has these tables and no others",
    "[published]") {
    auto const found = published::robus_scenario();
    check_all(found);
    CHECK(table_lines(section("ROBUS")) == table_lines(found.table()));
}

TEST_CASE("TRADL: FT before AO before NA for those that come late, and nothing where nobody competes", "[published]") {
    check_all(published::tradl_scenario({.random_schedules = 20}, RATION_BENCH_DATA "/loss/fits.csv"));
}

TEST_CASE("results.md says of TRADL's rule what the simulation gives", "[published]") {
    using namespace published::tradl_scenes;
    std::istringstream page(section("TRADL"));
    std::string words, word;
    while (page >> word) words += word + ' ';
    auto const reports = [&](char const* format, auto... numbers) {
        char sentence[200];
        std::snprintf(sentence, sizeof sentence, format, numbers...);
        INFO(sentence);
        CHECK(words.find(sentence) != std::string::npos);
    };
    auto const equal = [](std::size_t n, double dead_band) {
        return 100 * simulated_reduction(n, situation::at_fair_share, {.dead_band = dead_band});
    };
    auto const above = [](bool strict) {
        return 100 * simulated_reduction(8, situation::above_fair_share, {.dead_band = 0, .strict = strict});
    };
    reports("(%.1f and %.1f %% instead of %.1f and %.1f %%)", equal(3, 0), equal(9, 0), equal(3, 0.02), equal(9, 0.02));
    reports("gains %.1f %% where the kept branch gives %.1f %%", above(true), above(false));
    reports("takes %.2f times as long", lone_job({.dead_band = 0, .scenario = tradl_scenario::AO, .strict = true}));
}

TEST_CASE("Wei and Shudo: the older job always gains; both together only by contention or in a late phase",
          "[published]") {
    check_all(published::wei_shudo_scenario());
}
