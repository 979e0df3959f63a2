// SPDX-License-Identifier: BSL-1.0
// The two baselines, none and equal_share.
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>

#include "asked.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::status;
using ration::unlimited;
using ration::policies::equal_share;
using ration::policies::none;

TEST_CASE("none: gives each running job that holds nothing an unlimited share", "[none]") {
    asked<none> a(3);
    a.on.set_state(1, job_state::queued);
    auto const rows = a.decide();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].job == 0);
    CHECK(rows[0].amount == unlimited);
    CHECK(rows[0].reason == 1);
    CHECK(rows[1].job == 2);
}

TEST_CASE("none: leaves what holds as it is", "[none]") {
    asked<none> a(3);
    a.on.store[a.on.of(resource_id::cpu).held][0] = 500;
    a.on.store[a.on.of(resource_id::cpu).held][1] = unlimited;
    auto const rows = a.decide();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].job == 2);
}

TEST_CASE("equal_share: gives each running job one n-th", "[equal_share]") {
    asked<equal_share> a(3);
    for (auto const& g : a.decide()) CHECK(g.amount == 333);
    CHECK(a.decide().size() == 3);
    a.on.set_state(2, job_state::done);
    auto const rows = a.decide();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].amount == 500);
    CHECK(rows[1].amount == 500);
    CHECK(rows[1].job == 1);
}

TEST_CASE("equal_share: says only what differs from what is held", "[equal_share]") {
    asked<equal_share> a(3);
    auto const held = a.on.store[a.on.of(resource_id::cpu).held];
    held[0] = 333;
    held[1] = 332;
    held[2] = unlimited;
    auto const rows = a.decide();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].job == 1);
    CHECK(rows[1].job == 2);
}

TEST_CASE("equal_share: stays within what a job accepts", "[equal_share]") {
    asked<equal_share> a(2);
    a.on.set_bounds(0, resource_id::cpu, 0, 200);
    a.on.set_bounds(1, resource_id::cpu, 700, unlimited);
    auto const rows = a.decide();
    CHECK(rows[0].amount == 200);
    CHECK(rows[1].amount == 700);
}

TEST_CASE("none, equal_share: write no grant without jobs or nodes", "[none][equal_share]") {
    asked<equal_share> no_jobs(0);
    CHECK(no_jobs.decide().empty());
    asked<equal_share> no_nodes(2, {}, 0);
    CHECK(no_nodes.decide().empty());
    CHECK(no_nodes.reply == status::ok);
    asked<none> nobody(0);
    CHECK(nobody.decide().empty());
}

TEST_CASE("none, equal_share: report that the space for grants is too small", "[none][equal_share]") {
    asked<equal_share> a(3);
    CHECK(a.decide(0, 2).size() == 2);
    CHECK(a.reply == status::capacity);
    asked<none> b(3);
    b.decide(0, 2);
    CHECK(b.reply == status::capacity);
    b.decide(0, 3);
    CHECK(b.reply == status::ok);
}
