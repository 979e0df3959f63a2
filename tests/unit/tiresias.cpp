// SPDX-License-Identifier: BSL-1.0
// las and gittins: service attained, in queues and as an index.
#include <limits>
#include <vector>

#include <ration/policies/gittins.hpp>
#include <ration/policies/las.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::gittins;
using ration::policies::las;
using ration::policies::detail::service_distribution;

TEST_CASE("las: a job sinks to the next queue with its device-seconds", "[las]") {
    cluster<las> c({4});
    c.submit({.request = 4, .length = 1e6});
    c.decide();
    c.pass(812);  // 3248 device-seconds: still in the first queue, and it started first
    c.submit({.request = 4});
    CHECK(c.decide() == counts{4, 0});
    c.pass(1);  // 3252
    CHECK(c.decide() == counts{0, 4});
    c.pass(813);  // both in the second queue: no job is stopped for an equal
    CHECK(c.decide() == counts{0, 4});
    c.pass(986);  // 7196
    CHECK(c.decide() == counts{0, 4});
    c.pass(1);  // 7200: the third
    CHECK(c.decide() == counts{4, 0});
    CHECK(c.fault.empty());
}

TEST_CASE("las: within a queue those that run come first, then those that ran, then the order of submission", "[las]") {
    cluster<las> c({4});
    c.submit({.request = 2});
    c.decide();
    c.pass(10);
    c.submit({.request = 3});
    c.submit({.request = 2});
    CHECK(c.decide() == counts{2, 0, 2});  // the second does not fit and lets the third pass
    c.pass(10);
    c.submit({.request = 1});
    c.end(1);
    CHECK(c.decide() == counts{0, 2, 1});  // the third runs, so that the second waits still
    for (auto const id : {3, 4}) c.store[c.attained][c.row_of(id)] = 4000;
    c.submit({.request = 4});
    c.end(2);
    CHECK(c.decide() == counts{0, 0, 4});
    c.store[c.attained][2] = 4000;
    c.submit({.request = 1, .length = 1});
    c.end(5);
    CHECK(c.decide() == counts{2, 1, 1});
}

TEST_CASE("las: a higher queue is served before any lower one", "[las]") {
    cluster<las> c({2, 2}, las({.first_threshold = 100, .second_threshold = 200}));
    c.submit({.request = 2});
    c.submit({.request = 2});
    c.decide();
    c.pass(60);  // 120 each
    c.submit({.request = 3});
    CHECK(c.decide() == counts{0, 0, 3});
    c.submit({.request = 1});
    CHECK(c.decide() == counts{0, 0, 3, 1});
}

TEST_CASE("las: a job that has waited long goes back to the first queue", "[las]") {
    cluster<las> c({1}, las({.first_threshold = 100, .second_threshold = 200, .promote = 2}));
    c.submit({});
    c.decide();
    c.pass(100);
    c.submit({});
    CHECK(c.decide() == counts{0, 1});  // since 100 the first waits; it ran for 100 s
    c.pass(50);
    c.decide();                    // here it is first seen waiting
    for (int i = 0; i < 3; ++i) {  // never more than 99 of service: the job that runs stays in the first queue
        c.store[c.attained][c.row_of(c.last_id)] = 20;
        c.pass(60);
        CHECK(c.decide().front() == 0);
    }
    c.store[c.attained][1] = 20;
    c.pass(20);  // 200 s later it is in the first queue, where the other one runs
    CHECK(c.decide() == counts{0, 1});
    c.store[c.attained][1] = 150;  // that one sinks
    CHECK(c.decide() == counts{1, 0});
    c.pass(90);
    c.submit({});
    CHECK(c.decide() == counts{1, 0, 0});  // its service counts again from 0: 90
    c.pass(10);
    CHECK(c.decide() == counts{0, 0, 1});
    CHECK(c.fault.empty());
}

TEST_CASE("las: without promotion a job waits for good", "[las]") {
    cluster<las> c({1}, las({.first_threshold = 100, .second_threshold = 200, .promote = 0}));
    c.submit({});
    c.decide();
    c.pass(100);
    c.submit({});
    c.decide();
    for (int i = 0; i < 20; ++i) {
        c.store[c.attained][1] = 20;
        c.pass(60);
        CHECK(c.decide() == counts{0, 1});
    }
    c.store[c.attained][1] = 150;
    CHECK(c.decide() == counts{0, 1});
}

TEST_CASE("las: goes on from saved state as it was", "[las]") {
    cluster<las> c({1}, las({.first_threshold = 100, .second_threshold = 200, .promote = 2}));
    c.submit({});
    c.decide();
    c.pass(100);
    c.submit({});
    c.decide();
    c.pass(10);
    c.decide();
    std::vector<std::byte> space(c.policy.save({}));
    CHECK(c.policy.save(space) == space.size());
    las other({.first_threshold = 100, .second_threshold = 200, .promote = 2});
    CHECK(other.load(std::span(space).first(space.size() - 1)) == ration::status::state);
    REQUIRE(other.load(space) == ration::status::ok);
    std::vector<std::byte> again(space.size());
    CHECK(other.save(again) == space.size());
    CHECK(again == space);
}

TEST_CASE("las: thresholds in the wrong order are refused", "[las]") {
    CHECK(ration::policies::las_parameters{}.problem().empty());
    CHECK_FALSE(ration::policies::las_parameters{.first_threshold = 10, .second_threshold = 5}.problem().empty());
    CHECK_FALSE(ration::policies::las_parameters{.promote = -1}.problem().empty());
    CHECK_FALSE(ration::policies::gittins_parameters{.quantum = 0}.problem().empty());
}

// Jobs of 1, 1, 3 and 5 quanta of 10. In the first quantum two of four end: p = 1/2, e = 1. In the second none of two:
// 0. In the third one of two, e = 1: 1/2. In the fourth none of one; in the fifth one of one. Later: nothing is known.
TEST_CASE("gittins: the index is the chance to end over the service spent", "[gittins]") {
    service_distribution d;
    for (double const service : {50.0, 10.0, 30.0, 10.0}) d.add(service);
    CHECK(d.index(0, 10) == 0.5);
    CHECK(d.index(9.99, 10) == 0.5);
    CHECK(d.index(10, 10) == 0);
    CHECK(d.index(20, 10) == 0.5);
    CHECK(d.index(30, 10) == 0);
    CHECK(d.index(45, 10) == 1);
    CHECK(d.index(50, 10) == 0);
    d.add(5);  // p = 3/5; e = (1 + 1 + 1/2 + 1 + 1)/5
    CHECK(d.index(0, 10) == Approx(3 / 4.5));
    CHECK(service_distribution{}.index(0, 10) == 0);
}

TEST_CASE("gittins: only the services seen last count", "[gittins]") {
    service_distribution d;
    d.add(5);
    for (std::size_t i = 0; i < service_distribution::most; ++i) d.add(25);
    CHECK(d.index(0, 10) == 0);
    CHECK(d.index(20, 10) == 2);
}

TEST_CASE("gittins: serves the job that is likeliest to end", "[gittins]") {
    cluster<gittins> c({1}, gittins({.quantum = 10}));
    c.submit({.length = 30});
    CHECK(c.decide() == counts{1});
    c.pass(20);
    for (double const length : {50.0, 25.0, 12.0}) c.submit({.length = length});
    // Services 30, 50, 25 and 12: a new job's index is 0, since none ends within 10; that of the first, at 20, is 2/3
    // over (1 + 0.5 + 1)/3.
    CHECK(c.decide() == counts{1, 0, 0, 0});
    c.pass(10);  // at 30 it is known to be longer than it is: one of one that is left, of 50, does not end by 40
    CHECK(c.decide() == counts{1, 0, 0, 0});  // the index is 0 for all: it started first
    c.end(1);
    CHECK(c.decide() == counts{1, 0, 0});
    c.pass(10);  // in the second quantum one of four ends, after 2: 1/4 over (3 + 0.2)/4
    CHECK(c.decide() == counts{1, 0, 0});
    c.pass(10);
    c.submit({.length = 1});
    CHECK(c.decide() == counts{1, 0, 0, 0});
    CHECK(c.fault.empty());
}

TEST_CASE("gittins: goes on from saved state as it was", "[gittins]") {
    cluster<gittins> c({1}, gittins({.quantum = 10}));
    for (double const length : {30.0, 50.0, 5.0}) c.submit({.length = length});
    c.decide();
    std::vector<std::byte> space(c.policy.save({}));
    CHECK(c.policy.save(space) == space.size());
    gittins other;
    CHECK(other.load(std::span(space).first(9)) == ration::status::state);
    REQUIRE(other.load(space) == ration::status::ok);
    std::vector<std::byte> again(space.size());
    CHECK(other.save(again) == space.size());
    CHECK(again == space);
}

TEST_CASE("las, gittins: feasible answers in any cluster", "[las][gittins]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, las{}, true) == "");
        CHECK(trouble(seed, las({.first_threshold = 60, .second_threshold = 500, .promote = 1}), true) == "");
        CHECK(trouble(seed, gittins({.quantum = 200}), true) == "");
    }
}

TEST_CASE("las: a state with a service beyond all measure can be loaded", "[las]") {
    cluster<las> c({1}, las({.promote = 2}));
    c.submit({.request = 2});
    c.store[c.attained][0] = std::numeric_limits<double>::infinity();
    c.decide();
    std::vector<std::byte> state(c.policy.save({}));
    static_cast<void>(c.policy.save(state));
    CHECK(c.policy.load(state) == ration::status::ok);
}
