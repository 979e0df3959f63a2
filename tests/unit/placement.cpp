// SPDX-License-Identifier: BSL-1.0
// Where devices are put: as close together as there is room, and nothing moves without need.
#include <ration/policies/detail/placement.hpp>

#include "cluster_host.hpp"
#include "support/catch.hpp"

using namespace unit;

namespace {

/// Brings every job to `wanted` devices, in the order of rows; those that shrink first.
struct puts_as_reported {
    using policy_concept = ration::policy_tag;
    using inputs = ration::policies::detail::cluster_columns<>;
    static constexpr std::string_view reasons[] = {"", "told", "lost"};
    static constexpr ration::meta about{.id = "org.example.told", .version = "1.0.0", .reasons = reasons};
    counts const* wanted = nullptr;
    ration::policies::detail::placement places{};

    ration::status prepare(ration::limits const& most) noexcept {
        places.reserve(most);
        return ration::status::ok;
    }
    ration::status decide(ration::tick<inputs> const& t, ration::grants& out) noexcept {
        places.begin(t, 2);
        for (bool const growing : {false, true})
            for (std::size_t row = 0; row < t.jobs(); ++row)
                if (((*wanted)[row] > places.held(t, row)) == growing) places.resize(t, row, (*wanted)[row], 1);
        return places.finish(t, out);
    }
};

struct reported {
    counts wanted;
    cluster<puts_as_reported> c;
    explicit reported(counts const& capacities, std::size_t jobs) : wanted(jobs), c(capacities, {.wanted = &wanted}) {
        for (std::size_t i = 0; i < jobs; ++i) c.submit({.request = 1, .least = 1, .most = 1000});
    }
    counts to(counts w) {
        wanted = std::move(w);
        auto const given = c.decide();
        CHECK(c.fault.empty());
        return given;
    }
};

}  // namespace

TEST_CASE("placement: a job comes onto the node with the least free devices that suffice", "[placement]") {
    reported t({8, 4, 6, 4}, 3);
    t.to({3, 0, 0});
    CHECK(t.c.of(1) == places{{1, 3}});
    t.to({3, 1, 0});
    CHECK(t.c.of(2) == places{{1, 1}});
    t.to({3, 1, 5});
    CHECK(t.c.of(3) == places{{2, 5}});
}

TEST_CASE("placement: a job too large for one node takes the emptiest, and the tightest for what is left",
          "[placement]") {
    reported t({4, 8, 8, 6, 2}, 2);
    t.to({18, 0});
    CHECK(t.c.of(1) == places{{1, 8}, {2, 8}, {4, 2}});
    t.to({18, 10});
    CHECK(t.c.of(2) == places{{0, 4}, {3, 6}});
}

TEST_CASE("placement: what there is not is not given", "[placement]") {
    reported t({4, 2}, 2);
    CHECK(t.to({5, 4}) == counts{5, 1});
}

TEST_CASE("placement: a job that grows stays where it is", "[placement]") {
    reported t({4, 8, 8}, 2);
    t.to({2, 0});
    t.to({4, 0});
    CHECK(t.c.of(1) == places{{0, 4}});
    CHECK(t.c.answer.size() == 1);
    t.to({10, 0});
    CHECK(t.c.of(1) == places{{0, 4}, {1, 6}});
    CHECK(t.c.answer.size() == 1);
    reported u({8, 4}, 2);
    u.to({0, 3});
    u.to({5, 3});
    u.to({6, 3});  // another node would be tighter
    CHECK(u.c.of(1) == places{{0, 6}});
}

TEST_CASE("placement: a job that shrinks gives up its smallest places", "[placement]") {
    reported t({8, 8, 8}, 1);
    t.to({19});
    CHECK(t.c.of(1) == places{{0, 8}, {1, 8}, {2, 3}});
    t.to({17});
    CHECK(t.c.of(1) == places{{0, 8}, {1, 8}, {2, 1}});
    t.to({14});
    CHECK(t.c.of(1) == places{{0, 8}, {1, 6}});
    t.to({0});
    CHECK(t.c.of(1).empty());
}

TEST_CASE("placement: what one job gives back another gets in the same answer", "[placement]") {
    reported t({4}, 2);
    t.to({4, 0});
    CHECK(t.to({1, 3}) == counts{1, 3});
    CHECK(t.to({0, 4}) == counts{0, 4});
    CHECK(t.to({4, 0}) == counts{4, 0});
}

TEST_CASE("placement: a node that fails loses the jobs that came last, as far as it has to", "[placement]") {
    reported t({8, 8}, 3);
    t.to({3, 4, 8});
    CHECK(t.c.of(2) == places{{0, 4}});
    t.c.capacity(0) = 5;
    CHECK(t.to({3, 2, 8}) == counts{3, 2, 8});
    CHECK(t.c.reason_of(1) == "unchanged");
    CHECK(t.c.reason_of(2) == "lost");
    t.c.capacity(0) = 0;
    CHECK(t.to({3, 2, 3}) == counts{3, 2, 3});
    CHECK(t.c.of(1) == places{{1, 3}});
}

TEST_CASE("placement: nothing is said of what does not change", "[placement]") {
    reported t({8, 8}, 2);
    t.to({3, 9});
    t.to({3, 9});
    CHECK(t.c.answer.empty());
}
