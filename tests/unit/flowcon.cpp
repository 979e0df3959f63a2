// SPDX-License-Identifier: BSL-1.0
// flowcon: growth efficiency, the lists, the limits.
#include <limits>

#include <ration/policies/flowcon.hpp>

#include "asked.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::flowcon;
using amounts = std::vector<std::int64_t>;

namespace {

struct flows {
    asked<flowcon> a;
    double now = 0;
    amounts last;
    explicit flows(std::size_t jobs) : a(jobs, flowcon({.alpha = 0.01, .interval = 30})) {}

    void use(std::initializer_list<double> millicores) {
        std::size_t row = 0;
        for (double const u : millicores) a.use(row++, u);
    }
    /// Until the end of the interval every job reports this loss, every 10 s.
    amounts interval(std::initializer_list<double> losses, double seconds = 30) {
        std::size_t row = 0;
        for (double const l : losses) a.on.store[a.on.columns.loss][row++] = l;
        if (now == 0) ask();
        for (double const end = now + seconds; now < end;) {
            now += 10;
            ask();
        }
        return last;
    }
    void ask() {
        last.clear();
        for (auto const& g : a.decide(now)) last.push_back(g.amount);
    }
};

}  // namespace

// A node of 1000. Used 500 and 250: R = 0.5 and 0.25.
TEST_CASE("flowcon: limits by growth efficiency and watches before it completes", "[flowcon]") {
    flows f(2);
    f.use({500, 250});
    CHECK(f.interval({100, 100}) == amounts{unlimited, unlimited});
    // P = 0.5/30 and 0.03/30, G = 1/30 and 0.004: the second is watched, and has no limit yet. 0.8928 of the node.
    CHECK(f.interval({50, 97}) == amounts{892, unlimited});
    // G = 0.02 and 0.04/30: completing; 0.0625 is below 1/3. The first 0.9375. Together 1.2708 of the node.
    CHECK(f.interval({20, 96}) == amounts{737, 262});
    // No job grows: one is watched, one is completing, and all limits stay.
    CHECK(f.interval({20, 96}) == amounts{737, 262});
    // Both are completing.
    CHECK(f.interval({20, 96}) == amounts{unlimited, unlimited});
    // The interval is 60 s now: over 30 s G would be 0.2/30/0.5 = 1/75, over 60 s it is below alpha.
    CHECK(f.interval({0, 96}) == amounts{unlimited, unlimited});
    CHECK(f.interval({0, 96}) == amounts{unlimited, unlimited});
}

TEST_CASE("flowcon: says only what differs from what is held", "[flowcon]") {
    flows f(2);
    f.use({500, 250});
    f.interval({100, 100});
    f.interval({50, 97});
    auto const held = f.a.on.store[f.a.on.of(resource_id::cpu).held];
    held[0] = 892;
    held[1] = unlimited;
    f.ask();
    CHECK(f.last.empty());
    held[0] = 891;
    f.ask();
    CHECK(f.last == amounts{892});
}

TEST_CASE("flowcon: a job that grows again is new again", "[flowcon]") {
    flows f(2);
    f.use({500, 500});
    f.interval({100, 100});
    f.interval({60, 99});
    f.interval({40, 98});                                // the second completes
    CHECK(f.last == amounts{740, 259});                  // 0.952 and 1/3, over their sum
    CHECK(f.interval({20, 37.6}) == amounts{248, 751});  // 0.2 and 0.604
    // It was new: once below alpha it is only watched and keeps its limit.
    CHECK(f.interval({20, 37}) == amounts{248, 751});
}

TEST_CASE("flowcon: a job that comes brings back the interval, and measuring begins anew", "[flowcon]") {
    flows f(1);
    f.use({1000});
    f.interval({100});
    f.interval({100});
    f.interval({100});  // watched, then all are completing: 60 s from now on
    CHECK(f.last == amounts{unlimited});
    f.a.add_job(9);
    f.use({500, 500});
    f.a.on.store[f.a.on.columns.loss][1] = 100;
    f.ask();
    f.interval({100, 100});
    CHECK(f.interval({80, 70}) == amounts{400, 600});  // 0.2 and 0.3, rounded down
}

TEST_CASE("flowcon: stays within what a job accepts", "[flowcon]") {
    flows f(2);
    f.use({500, 500});
    f.a.on.set_bounds(0, resource_id::cpu, 0, 300);
    f.a.on.set_bounds(1, resource_id::cpu, 600, unlimited);
    f.interval({100, 100});
    CHECK(f.interval({50, 50}) == amounts{300, 600});
    f.a.on.set_bounds(0, resource_id::cpu, 500, unlimited);
    f.a.on.set_bounds(1, resource_id::cpu, 400, unlimited);
    CHECK(f.interval({49, 10}) == amounts{500, 500});  // 0.02 and 0.98: raised to 500, and 500 are left
}

TEST_CASE("flowcon: goes on from saved state as it was", "[flowcon]") {
    flows f(2), g(2);
    f.use({500, 250});
    g.use({500, 250});
    f.interval({100, 100});
    f.interval({50, 97});
    std::vector<std::byte> space(f.a.policy.save({}));
    CHECK(f.a.policy.save(space) == space.size());
    CHECK(g.a.policy.load(std::span(space).first(5)) == ration::status::state);
    REQUIRE(g.a.policy.load(space) == ration::status::ok);
    g.now = f.now;
    CHECK(g.interval({20, 96}) == amounts{737, 262});
    CHECK_FALSE(ration::policies::flowcon_parameters{.interval = 0}.problem().empty());
}

// The sum of two such losses, and the difference of these two, have no number.
TEST_CASE("flowcon: a change of the loss beyond all numbers counts as no growth", "[flowcon]") {
    double const most = std::numeric_limits<double>::max();
    flows f(2);
    f.use({500, 250});
    f.interval({most, 100});
    CHECK(f.interval({-most, 50}) == amounts{unlimited, 1000});
    std::vector<std::byte> state(f.a.policy.save({}));
    static_cast<void>(f.a.policy.save(state));
    CHECK(f.a.policy.load(state) == ration::status::ok);
}
