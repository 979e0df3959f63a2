// SPDX-License-Identifier: BSL-1.0
// optimus and afs: devices one by one, to whom they help most.
#include <limits>

#include <ration/policies/afs.hpp>
#include <ration/policies/optimus.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::afs;
using ration::policies::optimus;

namespace {

/// Up to 4 devices: 1, 1.8, 2.4 and 2.8 steps/s.
[[nodiscard]] cluster_job diminishing(double length) {
    return {.least = 1, .most = 4, .length = length, .goodput = {0, 1, 1.8, 2.4, 2.8}};
}
[[nodiscard]] cluster_job linear(double length, std::int64_t most = 8) {
    return {.least = 1, .most = most, .length = length};
}

}  // namespace

// Of 100 steps a second device saves 100 - 55.6 = 44.4 s, a third 13.9 s, a fourth 6 s; of 50 linear ones 25, 8.3, 4.2
// s.
TEST_CASE("optimus: gives to whom a device saves the most time", "[optimus]") {
    for (auto const& [devices, expected] : {std::pair<std::int64_t, counts>{2, {1, 1}},
                                            {3, {2, 1}},
                                            {4, {2, 2}},
                                            {5, {3, 2}},
                                            {6, {3, 3}},
                                            {7, {4, 3}}}) {
        cluster<optimus> c({devices});
        c.submit(diminishing(100));
        c.submit(linear(50));
        CHECK(c.decide() == expected);
    }
}

TEST_CASE("optimus: starts with the minima, in the order of submission", "[optimus]") {
    cluster<optimus> c({5});
    c.submit(linear(1e6));
    c.submit({.request = 3});
    c.submit({.request = 2});
    c.submit(linear(1));
    CHECK(c.decide() == counts{1, 3, 0, 1});
}

TEST_CASE("optimus: stops where nobody gains", "[optimus]") {
    cluster<optimus> c({8});
    c.submit({.least = 1, .most = 8, .goodput = {0, 1, 1.5, 1.4, 1.5}});
    c.submit({.least = 1, .most = 4, .length = std::numeric_limits<double>::quiet_NaN()});
    CHECK(c.decide() == counts{2, 1});
}

TEST_CASE("optimus, afs: where more devices help only from some number on, they go together", "[optimus]") {
    for (auto const& [devices, expected] : {std::pair<std::int64_t, counts>{5, {1, 4}}, {6, {4, 2}}, {8, {4, 4}}}) {
        cluster<optimus> c({devices});
        // 60 s for three devices, 20 for each
        c.submit({.least = 1, .most = 8, .length = 80, .goodput = {0, 1, 1, 1, 4}});
        c.submit({.least = 1, .most = 8, .length = 60});  // 30 s for one, 10, 5, 3
        CHECK(c.decide() == expected);
    }
}

TEST_CASE("optimus: divides at an arrival and at an end", "[optimus]") {
    cluster<optimus> c({4, 4});
    auto const first = c.submit(linear(1e5));
    CHECK(c.decide() == counts{8});
    c.pass(1);
    c.submit(linear(1e5));
    CHECK(c.decide() == counts{4, 4});
    c.pass(1);
    CHECK(c.decide() == counts{4, 4});
    c.end(first);
    c.pass(1);
    CHECK(c.decide() == counts{8});
    CHECK(c.fault.empty());
}

TEST_CASE("optimus: without at_changes divides once in an interval, or when a node fails", "[optimus]") {
    cluster<optimus> c({4, 4}, optimus({.at_changes = false}));
    c.submit(linear(1e5));
    CHECK(c.decide() == counts{8});
    c.pass(1);
    c.submit(linear(1e5));
    CHECK(c.decide() == counts{8, 0});
    c.pass(598);
    CHECK(c.decide() == counts{8, 0});
    c.capacity(1) = 0;
    c.submit(linear(1e5));
    CHECK(c.decide() == counts{1, 2, 1});  // the second and the third have more left than the first
    c.pass(599);
    c.capacity(1) = 4;
    CHECK(c.decide() == counts{1, 2, 1});
    c.pass(1);
    CHECK(c.decide() == counts{2, 3, 3});
    CHECK(c.fault.empty());
}

// Both linear, 100 and 200 steps. Nothing yet: the shorter. Then 1 > 1 is false, so that it wins again; then 1 > 1/2:
// the longer; then 1/2 > 1/2 is false: the shorter; then 1/2 > 1/3: the longer.
TEST_CASE("afs: favours the shorter job as long as the longer one does not gain more", "[afs]") {
    for (auto const& [devices, expected] :
         {std::pair<std::int64_t, counts>{1, {0, 1}}, {2, {0, 2}}, {3, {1, 2}}, {4, {1, 3}}, {5, {2, 3}}}) {
        cluster<afs> c({devices});
        c.submit(linear(200));
        c.submit(linear(100));
        CHECK(c.decide() == expected);
    }
}

// The short one gains 0.2 of its speed by a second device: the long one, with 1, 1/2, 1/3, 1/4, gains more up to its
// fourth.
TEST_CASE("afs: gives to the longer job what the shorter one cannot use", "[afs]") {
    cluster<afs> c({5});
    c.submit({.least = 1, .most = 8, .length = 10, .goodput = {0, 1, 1.2, 1.3}});
    c.submit(linear(200));
    CHECK(c.decide() == counts{1, 4});
}

// 100 steps on two devices take 50 s and those 90 on one 90 s: lengths are taken with what each has. The third device:
// 100/1 and 90/1, the second is shorter.
TEST_CASE("afs: compares what is left at the devices that each has", "[afs]") {
    cluster<afs> c({3});
    c.submit({.least = 2, .most = 3, .length = 100, .goodput = {0, 0, 2, 2.1}});
    c.submit({.least = 1, .most = 3, .length = 90, .goodput = {0, 1, 1.04}});
    // The first: 50 s with its two; shorter than 90: it gets them. Then 1 > 0.05 for the other.
    CHECK(c.decide() == counts{2, 1});
    cluster<afs> d({4});
    d.submit({.least = 2, .most = 3, .length = 100, .goodput = {0, 0, 2, 2.1}});
    d.submit({.least = 1, .most = 3, .length = 90, .goodput = {0, 1, 1.04}});
    // 50 s and 90 s: the second is the longer one, and 0.04/1.04 > 0.1/2 is false.
    CHECK(d.decide() == counts{3, 1});
    // One each, 100 s and 98 s: the second is the shorter one, and 1/2 > 0.9 is false. With two each it would be 50 s
    // and 51.6 s.
    cluster<afs> e({3});
    e.submit(linear(100));
    e.submit({.least = 1, .most = 2, .length = 98, .goodput = {0, 1, 1.9}});
    CHECK(e.decide() == counts{1, 2});
}

TEST_CASE("afs: leaves out who gains nothing, and puts unknown lengths last", "[afs]") {
    cluster<afs> c({8});
    c.submit({.least = 1, .most = 8, .goodput = {0, 1, 1, 1}});
    c.submit({.least = 1, .most = 2, .length = std::numeric_limits<double>::quiet_NaN()});
    CHECK(c.decide() == counts{1, 2});
    cluster<afs> one({1});
    one.submit({.length = std::numeric_limits<double>::quiet_NaN()});
    one.submit({.length = 1e9});
    CHECK(one.decide() == counts{0, 1});
}

TEST_CASE("afs: divides anew when jobs or devices come or go", "[afs]") {
    cluster<afs> c({4, 4});
    c.submit(linear(100));
    CHECK(c.decide() == counts{8});
    c.pass(1);
    CHECK(c.decide() == counts{8});
    c.submit(linear(99));  // as long as the first: 1, 2 for that, 1, 3, 2, 4, 3, 5
    CHECK(c.decide() == counts{5, 3});
    // The second is the shorter one now; no job has come
    c.store[c.columns.remaining][0] = 1e6;
    c.store[c.columns.remaining][1] = 1e5;
    c.pass(1);
    CHECK(c.decide() == counts{5, 3});
    c.pass(600);
    CHECK(c.decide() == counts{3, 5});
    c.end(1);
    CHECK(c.decide() == counts{8});
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{4});
    c.capacity(0) = 4;
    CHECK(c.decide() == counts{8});
    CHECK(c.fault.empty());
}

TEST_CASE("optimus, afs: feasible answers in any cluster", "[optimus][afs]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, optimus({.interval = 0}), false) == "");
        CHECK(trouble(seed, optimus({.interval = 300}), false, 2) == "");
        CHECK(trouble(seed, optimus({.interval = 300, .at_changes = false}), false, 2) == "");
        CHECK(trouble(seed, afs{}, false) == "");
        CHECK(trouble(seed, afs({.interval = 60}), true, 2) == "");
    }
}
