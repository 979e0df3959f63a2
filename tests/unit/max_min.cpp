// SPDX-License-Identifier: BSL-1.0
// max_min: nobody could have more without taking it from one that has no more for its weight.
#include <ration/policies/max_min.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::max_min;

TEST_CASE("max_min: what one job cannot use is shared by the others", "[max_min]") {
    cluster<max_min> c({8, 2});
    c.submit({.least = 1, .most = 2});
    c.submit({.least = 1, .most = 16});
    c.submit({.least = 1, .most = 16});
    CHECK(c.decide() == counts{2, 4, 4});
    c.end(2);
    CHECK(c.decide() == counts{2, 8});
    CHECK(c.fault.empty());
}

TEST_CASE("max_min: a job of three times the weight gets three times the devices", "[max_min]") {
    cluster<max_min> c({8});
    c.submit({.least = 1, .most = 8, .weight = 1});
    c.submit({.least = 1, .most = 8, .weight = 3});
    CHECK(c.decide() == counts{2, 6});
}

TEST_CASE("max_min: nobody gets less than its minimum, and the others share the rest", "[max_min]") {
    cluster<max_min> c({10});
    c.submit({.least = 6, .most = 8});
    c.submit({.least = 1, .most = 8});
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{6, 2, 2});
}

TEST_CASE("max_min: an odd device stays with who has it", "[max_min]") {
    cluster<max_min> c({5});
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{5});
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{3, 2});
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{2, 2, 1});
    c.end(1);
    CHECK(c.decide() == counts{3, 2});
    cluster<max_min> d({5});
    d.submit({.least = 1, .most = 2});
    d.submit({.least = 1, .most = 8});
    CHECK(d.decide() == counts{2, 3});
    d.store[d.of_gpu().maximum][0] = 8;  // now it accepts a third
    d.submit({.request = 100});
    CHECK(d.decide() == counts{2, 3, 0});
    CHECK(c.fault.empty());
}

TEST_CASE("max_min: where not all fit they take turns, one round each", "[max_min]") {
    cluster<max_min> c({4}, max_min({.round = 60}));
    c.submit({.request = 3});
    c.submit({.request = 3});
    CHECK(c.decide() == counts{3, 0});
    c.pass(59);
    CHECK(c.decide() == counts{3, 0});
    c.pass(1);
    CHECK(c.decide() == counts{0, 3});
    CHECK(c.reason_of(1) == "the devices are with jobs that come before it");
    c.pass(30);
    c.submit({.request = 4});  // nothing so far, as the second at the beginning of the round: that one was there before
    CHECK(c.decide() == counts{0, 3, 0});
    c.pass(30);
    CHECK(c.decide() == counts{0, 0, 4});
}

TEST_CASE("max_min: service counts for the weight", "[max_min]") {
    cluster<max_min> c({1}, max_min({.round = 10}));
    c.submit({.weight = 1});
    c.submit({.weight = 3});
    counts served(2);
    for (int round = 0; round < 40; ++round) {
        auto const now = c.decide();
        served[0] += now[0];
        served[1] += now[1];
        c.pass(10);
    }
    CHECK(served == counts{10, 30});
}

TEST_CASE("max_min: goes on from saved state as it was", "[max_min]") {
    cluster<max_min> c({4}, max_min({.round = 60}));
    c.submit({.request = 3});
    c.submit({.request = 3});
    c.decide();
    c.pass(60);
    c.decide();
    c.pass(20);
    std::vector<std::byte> space(c.policy.save({}));
    CHECK(c.policy.save(space) == space.size());
    c.policy = max_min({.round = 60});
    CHECK(c.policy.load(std::span(space).first(space.size() - 1)) == ration::status::state);
    REQUIRE(c.policy.load(space) == ration::status::ok);
    CHECK(c.decide() == counts{0, 3});  // the round goes on
    CHECK(c.fault.empty());
}

TEST_CASE("max_min: feasible answers in any cluster", "[max_min]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, max_min{}, false) == "");
        CHECK(trouble(seed, max_min({.round = 100}), true) == "");
    }
}
