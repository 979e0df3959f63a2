// SPDX-License-Identifier: BSL-1.0
// edf: the fewest devices that meet each deadline, and the admission of jobs.
#include <array>
#include <limits>
#include <vector>

#include <ration/policies/edf.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::deadline_rule;
using ration::policies::edf;

namespace {

/// One step/s with each of up to `most` devices.
[[nodiscard]] cluster_job linear_until(double length, double deadline, std::int64_t most = 4) {
    return {.least = 1, .most = most, .length = length, .deadline = deadline};
}
/// Up to 4 devices, none of which helps fully: 1, 1.8, 2.4 and 2.8 steps/s.
[[nodiscard]] cluster_job diminishing(double length, double deadline) {
    return {.least = 1, .most = 4, .length = length, .deadline = deadline, .goodput = {0, 1, 1.8, 2.4, 2.8}};
}
[[nodiscard]] edf with(deadline_rule rule) { return edf({.rule = rule}); }

}  // namespace

// Of 100 steps one device makes 100 in 100 s, two 180, three 240 and four 280.
TEST_CASE("edf: a job gets the fewest devices that meet its deadline", "[edf]") {
    for (auto const& [deadline, expected] :
         {std::pair<double, std::int64_t>{100, 1}, {99, 2}, {56, 2}, {55, 3}, {42, 3}, {41, 4}, {36, 4}}) {
        cluster<edf> c({5});
        c.submit(diminishing(100, deadline));
        c.submit(linear_until(1000, -1, 8));  // uses each device fully, so it has all that are spare
        CHECK(c.decide() == counts{expected, 5 - expected});
    }
}

TEST_CASE("edf: a job that no number of devices can finish in time runs on spare ones", "[edf]") {
    cluster<edf> c({4});
    c.submit(diminishing(100, 35));
    c.submit(diminishing(100, 99));
    CHECK(c.decide() == counts{2, 2});
}

// The first job needs both devices until 50. From then on the third one needs one device until 150, and it comes first
// for the spare one, because it has a plan.
TEST_CASE("edf: a job waits for devices that will be free early enough", "[edf]") {
    cluster<edf> c({2});
    auto const first = c.submit(linear_until(100, 50));
    c.submit(linear_until(100, -1));
    c.submit(linear_until(100, 150));
    CHECK(c.decide() == counts{2, 0, 0});
    c.pass(50);
    c.end(first);
    CHECK(c.decide() == counts{0, 2});
}

// From 50 on the second job needs both devices until 100. By 99 they are free for 98 device-seconds, which suffice for
// the third one.
TEST_CASE("edf: a job for which devices will be free too late is not admitted, and no other one waits for it",
          "[edf]") {
    for (auto const& [deadline, expected] : {std::pair<double, counts>{100, {2, 0}}, {99, {0, 2}}}) {
        cluster<edf> c({2});
        auto const first = c.submit(linear_until(100, 50));
        c.submit(linear_until(100, deadline));
        c.submit(linear_until(98, 100));
        CHECK(c.decide() == counts{2, 0, 0});
        c.pass(50);
        c.end(first);
        CHECK(c.decide() == expected);
    }
}

// From 50 on the second job needs 100 of the 200 device-seconds until 150. The third one would need 101 of the 180
// until 140, which leaves too few.
TEST_CASE("edf: a job that is to start later keeps the devices of its plan", "[edf]") {
    cluster<edf> c({2});
    auto const first = c.submit(linear_until(100, 50));
    c.submit(linear_until(100, 150));
    CHECK(c.decide() == counts{2, 0});
    c.submit(linear_until(101, 140));
    CHECK(c.decide() == counts{2, 0, 0});
    c.pass(50);
    c.end(first);
    CHECK(c.decide() == counts{2, 0});  // one is spare
}

// Both devices are needed until 50, so an arrival that needs one of them before is not admitted. With `least` the first
// job becomes late, and the arrival also gets the device that no plan uses.
TEST_CASE("edf: an urgent arrival displaces no admitted job; with least it does", "[edf]") {
    for (auto const& [rule, expected] :
         {std::pair{deadline_rule::admission, counts{2, 0}}, {deadline_rule::least, counts{0, 2}}}) {
        cluster<edf> c({2}, with(rule));
        auto const first = c.submit(linear_until(100, 50));
        CHECK(c.decide() == counts{2});
        auto const urgent = c.submit(linear_until(40, 40));
        CHECK(c.decide() == expected);
        c.pass(1);
        CHECK(c.decide() == expected);
        c.end(first);
        CHECK(c.decide() == counts{2});
        CHECK(c.devices_of(urgent) == 2);
    }
}

// Ten steps take the second job past the devices that the first needs.
TEST_CASE("edf: an arrival is admitted if the admitted ones stay in time", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(100, 100));
    CHECK(c.decide() == counts{2});  // needs one
    c.submit(linear_until(100, 100));
    CHECK(c.decide() == counts{1, 1});
    c.submit(linear_until(1, 100));
    CHECK(c.decide() == counts{1, 1, 0});
}

// A late job stays late without the arrival, so it is not a reason to refuse that.
TEST_CASE("edf: an admitted job that is late does not stop the admission of others", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(100, 100, 1));
    CHECK(c.decide() == counts{1});
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{0});
    c.pass(50);
    c.capacity(0) = 1;
    c.submit(linear_until(60, 120));
    c.submit(linear_until(1000, -1));
    CHECK(c.decide() == counts{0, 1, 0});
}

TEST_CASE("edf: spare devices go where they save most later", "[edf]") {
    cluster<edf> c({4});
    c.submit(diminishing(100, 100));      // its second device gives 0.8 of what the first does
    c.submit(linear_until(100, 100, 2));  // its second device gives all of it
    CHECK(c.decide() == counts{2, 2});
    cluster<edf> d({3});
    d.submit(diminishing(100, 100));
    d.submit(linear_until(100, 100, 2));
    CHECK(d.decide() == counts{1, 2});
}

// The first job is ten times as fast, and gains more steps with its second device. It needs that device less.
TEST_CASE("edf: the savings of spare devices are counted in devices, not in steps", "[edf]") {
    cluster<edf> c({3});
    c.submit({.least = 1, .most = 2, .length = 1000, .deadline = 100, .goodput = {0, 10, 18}});
    c.submit(linear_until(100, 100, 2));
    CHECK(c.decide() == counts{1, 2});
}

TEST_CASE("edf: a plan uses no fewer devices than the job accepts", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(10, 50, 1));
    c.submit({.least = 2, .most = 2, .length = 80, .deadline = 50, .goodput = {0, 1, 2}});
    CHECK(c.decide() == counts{1, 0});
}

TEST_CASE("edf: a restart that costs more than it saves is not worth spare devices", "[edf]") {
    for (auto const& [cost, expected] : {std::pair<double, std::int64_t>{40, 2}, {60, 1}}) {
        cluster<edf> c({1});
        c.submit(linear_until(100, 1000));
        CHECK(c.decide() == counts{1});
        c.store[c.columns.restart_cost][0] = cost;  // 100 s with one device, 50 s with two
        c.capacity(0) = 2;
        CHECK(c.decide() == counts{expected});
    }
}

// With two devices 40 steps take 20 s, and with a restart of 25 s more than the 44 s that are left. With three they
// take 16 s.
TEST_CASE("edf: a change of devices costs the time of a restart", "[edf]") {
    for (auto const& [cost, expected] : {std::pair<double, counts>{23, {2, 2}}, {25, {3, 1}}}) {
        cluster<edf> c({4});
        c.submit({.least = 1, .most = 4, .length = 40, .deadline = 44, .goodput = {0, 1, 2, 2.5, 2.6}});
        c.submit(linear_until(1000, -1, 3));
        c.store[c.columns.restart_cost][0] = cost;
        CHECK(c.decide() == expected);
    }
}

TEST_CASE("edf: a job that keeps its devices does not restart", "[edf]") {
    cluster<edf> c({4});
    c.submit({.least = 1, .most = 4, .length = 40, .deadline = 20, .goodput = {0, 1, 2, 2.5, 2.6}});
    c.submit(linear_until(1000, -1, 3));
    CHECK(c.decide() == counts{2, 2});
    c.store[c.columns.restart_cost][0] = 1;  // with another number it would be late
    c.submit(linear_until(10, 10, 1));
    CHECK(c.decide() == counts{2, 1, 1});
}

// Of the first device 10 s are taken. After them the third job has two devices, which it needs.
TEST_CASE("edf: devices are free for others from the end of a plan on", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(10, 50, 1));
    c.submit(linear_until(1, 1000, 1));
    c.submit(linear_until(88, 50, 2));
    CHECK(c.decide() == counts{1, 0, 1});
    c.submit(linear_until(88, 50, 2));
    CHECK(c.decide() == counts{1, 0, 1, 0});
}

TEST_CASE("edf: a job that has no step left has its devices to itself", "[edf]") {
    cluster<edf> c({2});
    c.submit({.least = 2, .most = 2, .length = 0, .deadline = 50, .goodput = {0, 1, 2}});
    c.submit({.least = 2, .most = 2, .length = 80, .deadline = 100, .goodput = {0, 1, 2}});
    CHECK(c.decide() == counts{2, 0});
}

TEST_CASE("edf: with most, the earliest deadline has all devices that make it faster", "[edf]") {
    cluster<edf> c({6}, with(deadline_rule::most));
    c.submit(linear_until(100, -1));
    c.submit(linear_until(100, 300));
    c.submit(linear_until(100, 200));
    CHECK(c.decide() == counts{0, 2, 4});
    c.submit({.least = 1, .most = 4, .deadline = 100, .goodput = {0, 1, 1.5, 1.4, 1.5}});
    CHECK(c.decide() == counts{0, 0, 4, 2});
}

TEST_CASE("edf: jobs of unknown length and late ones are not planned", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(std::numeric_limits<double>::quiet_NaN(), 1000));
    c.submit(linear_until(100, 100, 1));
    CHECK(c.decide() == counts{1, 1});
    c.pass(101);
    c.submit(linear_until(100, 202, 1));
    CHECK(c.decide() == counts{1, 0, 1});
}

TEST_CASE("edf: its state has the admissions, and damaged bytes are refused", "[edf]") {
    cluster<edf> c({2});
    c.submit(linear_until(100, 50));
    static_cast<void>(c.decide());
    c.submit(linear_until(40, 40));
    CHECK(c.decide() == counts{2, 0});
    std::vector<std::byte> bytes(c.policy.save({}));
    REQUIRE(c.policy.save(bytes) == bytes.size());
    edf again;
    REQUIRE(again.load(bytes) == ration::status::ok);
    std::vector<std::byte> twice(bytes.size());
    static_cast<void>(again.save(twice));
    CHECK(twice == bytes);
    for (std::size_t const from_end :
         {std::size_t{1}, 1 + sizeof(std::int64_t)}) {  // devices, and before them an admission
        auto damaged = bytes;
        damaged[damaged.size() - from_end] = std::byte{0x83};
        CHECK(again.load(damaged) == ration::status::state);
    }
    bytes.pop_back();
    CHECK(again.load(bytes) == ration::status::state);
    std::vector<std::byte> after(twice.size());
    static_cast<void>(again.save(after));
    CHECK(after == twice);
}

TEST_CASE("edf: feasible answers in any cluster", "[edf]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        for (auto const rule : {deadline_rule::admission, deadline_rule::least, deadline_rule::most}) {
            CHECK(trouble(seed, with(rule), false) == "");
            CHECK(trouble(seed, with(rule), true, 2) == "");
        }
    }
}
