// SPDX-License-Identifier: BSL-1.0
// What is published of the policies here comes out again, and the negative controls too. bench/published prints the same in full.
#include "published/cm_dare.hpp"
#include "published/elastic.hpp"
#include "published/ffdl.hpp"
#include "published/sia.hpp"
#include "published/tradl.hpp"
#include "published/wei_shudo.hpp"
#include "support/catch.hpp"

namespace {

void check_all(published::findings const& found) {
    REQUIRE_FALSE(found.claims().empty());
    INFO(found.table());
    for (auto const& c : found.claims()) {
        INFO(c.what);
        CHECK(c.holds);
    }
}

}  // namespace

TEST_CASE("FfDL: gangs do not deadlock, packed learners leave room for large jobs", "[published]") {
    check_all(published::ffdl_scenario({.gang_runs = 4, .placed_jobs = 4000}));
}

TEST_CASE("elastic batches: about twice as many jobs when saturated, and nothing where no batch may change", "[published]") {
    check_all(published::elastic_scenario({.hours = 12, .devices = 80, .whole_sweep = false}));
}

TEST_CASE("CM-DARE: a parameter server saturates at 4 or 5 workers on P100, not on K80", "[published]") {
    check_all(published::cm_dare_scenario());
}

TEST_CASE("Sia: the worked example of its table 1", "[published]") { check_all(published::sia_scenario()); }

TEST_CASE("TRADL: FT before AO before NA for those that come late, and nothing where nobody competes", "[published]") {
    check_all(published::tradl_scenario({.random_schedules = 20}, RATION_BENCH_DATA "/loss/fits.csv"));
}

TEST_CASE("Wei and Shudo: the older job always gains; both together only by contention or in a late phase", "[published]") {
    check_all(published::wei_shudo_scenario());
}
