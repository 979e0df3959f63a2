// SPDX-License-Identifier: BSL-1.0
// However messages are lost, late, doubled or out of order, and whatever crashes or is suspended: no two incarnations
// of a job run at a time, no part of one runs twice, and no device is in two jobs. Jobs are on one node or on two.
#include "model_world.hpp"
#include "support/catch.hpp"

using namespace model;

TEST_CASE("no schedule runs a job twice") {
    tally_model seen;
    for (std::uint64_t seed = 1; seed <= schedules(); ++seed) {
        world one(seed);
        one.run();
        INFO("seed " << seed);
        REQUIRE(one.violation.empty());
        seen += one.seen;
    }
    // The model is alive: jobs start, on several nodes too, hang, last, move, and lose their nodes, which come again
    CHECK(seen.gangs > schedules() / 2);
    CHECK(seen.hangs > schedules() / 2);
    CHECK(seen.lasting > schedules());
    CHECK(seen.launches > schedules());
    CHECK(seen.resumes > schedules());
    CHECK(seen.crashes > schedules() / 2);
    CHECK(seen.moves > schedules());
    CHECK(seen.losses > schedules() / 20);
    CHECK(seen.suspends > schedules() / 2);
    CHECK(seen.returns > schedules() / 20);
}
