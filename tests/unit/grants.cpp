// SPDX-License-Identifier: BSL-1.0
#include <array>

#include <ration/grant.hpp>

#include "support/catch.hpp"

using ration::changed_rows;
using ration::grant;
using ration::grants;
using ration::resource_id;

TEST_CASE("grants: are kept in the order they were made", "[grants]") {
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

TEST_CASE("grants: a full space is remembered until it is cleared", "[grants]") {
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

TEST_CASE("grants: a space of nothing takes nothing", "[grants]") {
    grants g({});
    CHECK_FALSE(g.set(0, 0, resource_id::cpu, 1));
    CHECK(g.overflowed());
}

TEST_CASE("grants: what stands there already is neither written nor listed", "[grants]") {
    std::array<grant, 4> space{};
    std::array<std::uint32_t, 2> list{};
    auto const answer = [&](std::array<std::int64_t, 4> amounts) {
        changed_rows changed{.row = list.data(), .capacity = list.size()};
        grants g(space, changed);
        for (std::size_t i = 0; i < amounts.size(); ++i) CHECK(g.set(i, 0, resource_id::cpu, amounts[i]));
        CHECK_FALSE(g.set(4, 0, resource_id::cpu, 1));
        CHECK(g.overflowed());
        CHECK(g.rows().size() == 4);
        for (std::size_t i = 0; i < amounts.size(); ++i) CHECK(g.rows()[i].amount == amounts[i]);
        return changed.count;
    };
    CHECK(answer({1, 2, 3, 4}) > list.size());
    CHECK(answer({1, 2, 3, 4}) == 0);
    CHECK(answer({1, 7, 3, 8}) == 2);
    CHECK(list == std::array<std::uint32_t, 2>{1, 3});
}

TEST_CASE("grants: each member of a row makes a difference", "[grants]") {
    grant const base{.job = 1, .node = 2, .resource = 3, .reason = 4, .group = 5, .amount = 6};
    auto other = base;
    switch (GENERATE(0, 1, 2, 3, 4, 5)) {
        case 0: other.job = 9; break;
        case 1: other.node = 9; break;
        case 2: other.resource = 9; break;
        case 3: other.reason = 9; break;
        case 4: other.group = 9; break;
        default: other.amount = 6 + (std::int64_t{1} << 40);
    }
    std::array<grant, 1> space{base};
    std::uint32_t row = 77;
    changed_rows changed{.row = &row, .capacity = 1};
    grants g(space, changed);
    CHECK(g.add(other));
    CHECK(space[0] == other);
    CHECK((changed.count == 1 && row == 0));
}

TEST_CASE("grants: what is written past the list is said to be any row", "[grants]") {
    std::array<grant, 4> space{};
    std::uint32_t row = 0;
    changed_rows changed{.row = &row, .capacity = 1};
    grants g(space, changed);
    SECTION("the space as a whole") { static_cast<void>(g.unused()); }
    SECTION("rows that were taken back") { g.clear(); }
    CHECK(changed.count > changed.capacity);
}

TEST_CASE("grants: beyond the list, rows that stay are told while others are still written", "[grants]") {
    std::array<grant, 1000> space{};
    std::array<std::uint32_t, 2> list{};
    std::uint64_t written = 0, reported = 0;
    changed_rows changed{.row = list.data(), .capacity = list.size(), .written = &written};
    grants g(space, changed);
    CHECK((g.set(0, 0, resource_id::cpu, 1) && g.set(1, 0, resource_id::cpu, 1) && written == 0));  // these are listed
    for (std::size_t i = 2; i < space.size(); ++i) {
        REQUIRE(g.set(i, 0, resource_id::cpu, 1));
        REQUIRE((written >= reported && written <= i));
        if (written > reported) CHECK(written == i);  // all that was there before this row
        reported = written;
    }
    CHECK(reported >= space.size() - 256);
    CHECK(changed.count > changed.capacity);
    for (std::size_t i = 0; i < space.size(); ++i) REQUIRE((space[i].job == i && space[i].amount == 1));
    CHECK_FALSE(g.set(1000, 0, resource_id::cpu, 1));
    SECTION("until they are taken back") {
        g.clear();
        CHECK(written == changed_rows::rewritten);
        for (std::size_t i = 0; i < space.size(); ++i) REQUIRE(g.set(i, 0, resource_id::cpu, 2));
        CHECK(written == changed_rows::rewritten);
        CHECK(changed.count > changed.capacity);
        CHECK((space[0].amount == 2 && space[999].amount == 2));
    }
}

TEST_CASE("grants: what was taken back before anybody was told is as if it had not been", "[grants]") {
    std::array<grant, 4> space{};
    std::uint64_t written = 0;
    changed_rows changed{.written = &written};
    grants g(space, changed);
    g.clear();
    CHECK(g.set(0, 0, resource_id::cpu, 1));
    CHECK(written == 0);
}

TEST_CASE("grants: an answer that lies elsewhere is shown to whoever goes by rows", "[grants]") {
    std::array<grant, 3> space{};
    std::array<grant, 2> elsewhere{grant{.job = 1}, grant{.job = 2}};
    grants g(space);
    CHECK_FALSE(g.show(elsewhere));
    g.read_by_rows();
    REQUIRE(g.show(elsewhere));
    CHECK(g.rows().data() == elsewhere.data());
    CHECK(g.rows().size() == 2);
    CHECK(g.room() == 1);
    SECTION("and moves here when a row is added") {
        CHECK(g.set(3, 0, resource_id::cpu, 5));
        REQUIRE(g.rows().size() == 3);
        CHECK(g.rows().data() == space.data());
        CHECK((g.rows()[0].job == 1 && g.rows()[1].job == 2 && g.rows()[2].job == 3));
        CHECK_FALSE(g.set(4, 0, resource_id::cpu, 5));
        CHECK_FALSE(g.show(elsewhere));
    }
    SECTION("and goes when all is cleared") {
        g.clear();
        CHECK(g.rows().empty());
        CHECK(g.set(4, 0, resource_id::cpu, 5));
        CHECK(g.rows().data() == space.data());
    }
}
