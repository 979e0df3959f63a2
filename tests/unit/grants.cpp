// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"

#include <array>

#include <ration/grant.hpp>

using ration::grant;
using ration::grants;
using ration::resource_id;

TEST_CASE("grants are kept in the order they were made", "[grants]") {
    std::array<grant, 3> space;
    grants g(space);
    CHECK(g.rows().empty());
    CHECK(g.set(1, 2, resource_id::gpu, 4, 7));
    CHECK(g.add({.job = 5, .node = 0, .resource = 1, .reason = 0, .group = 9, .amount = -1}));
    REQUIRE(g.rows().size() == 2);
    CHECK(g.rows()[0] == grant{.job = 1, .node = 2, .resource = 2, .reason = 7, .group = 0, .amount = 4});
    CHECK(g.rows()[1].group == 9);
    CHECK(g.rows()[1].amount == -1);
    CHECK_FALSE(g.overflowed());
}

TEST_CASE("a full space is remembered until it is cleared", "[grants]") {
    std::array<grant, 2> space;
    grants g(space);
    CHECK(g.set(0, 0, resource_id::cpu, 1));
    CHECK(g.set(1, 0, resource_id::cpu, 2));
    CHECK_FALSE(g.overflowed());
    CHECK_FALSE(g.set(2, 0, resource_id::cpu, 3));
    CHECK(g.overflowed());
    CHECK(g.rows().size() == 2);
    CHECK(g.rows()[1].amount == 2);
    g.clear();
    CHECK_FALSE(g.overflowed());
    CHECK(g.rows().empty());
    CHECK(g.set(2, 0, resource_id::cpu, 3));
    CHECK(g.rows()[0].amount == 3);
}

TEST_CASE("a space of nothing takes nothing", "[grants]") {
    grants g({});
    CHECK_FALSE(g.set(0, 0, resource_id::cpu, 1));
    CHECK(g.overflowed());
}
