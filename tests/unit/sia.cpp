// SPDX-License-Identifier: BSL-1.0
// sia: the paper's worked example, its parameters one by one, and the solver against counting everything.
#include <algorithm>

#include <ration/policies/sia.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::sia;
using ration::policies::sia_parameters;
using ration::policies::detail::configuration_choice;

namespace {

/// Goodputs of two types, each for 0 to 4 devices.
[[nodiscard]] cluster_job on_two_types(std::vector<double> goodput) {
    return {.least = 1, .most = 4, .goodput = std::move(goodput)};
}
constexpr sia_parameters sums{.p = 1, .doubling = false};

/// Everything that can be chosen, tried.
[[nodiscard]] double best_by_counting(std::vector<std::vector<ration::policies::detail::configuration>> const& jobs,
                                      std::size_t j, counts left) {
    if (j == jobs.size()) return 0;
    double best = best_by_counting(jobs, j + 1, left);
    for (auto const& c : jobs[j]) {
        if (c.devices > left[c.type] || c.value <= 0) continue;
        counts after = left;
        after[c.type] -= c.devices;
        best = std::max(best, c.value + best_by_counting(jobs, j + 1, after));
    }
    return best;
}

/// On two types; every sixth job has none.
[[nodiscard]] std::vector<ration::policies::detail::configuration> made_up_options(ration::rng_sequence& rng) {
    std::vector<ration::policies::detail::configuration> out;
    if (rng.below(6) == 0) return out;
    for (std::uint32_t type = 0; type < 2; ++type) {
        double const one = static_cast<double>(1 + rng.below(20)), loss = 0.05 * static_cast<double>(rng.below(10));
        for (std::int64_t const k : {1, 2, 4})
            out.push_back({.value = one * static_cast<double>(k) / (1 + loss * static_cast<double>(k)),
                           .devices = k,
                           .type = type});
    }
    return out;
}

}  // namespace

TEST_CASE("sia: starts a job that does not run on its minimum on the fewest devices on which it does", "[sia]") {
    cluster<sia> c({8});
    c.submit({.least = 1, .most = 8, .goodput = {0, 0, 0, 0, 3, 0, 0, 0, 5}});
    CHECK(c.decide() == counts{4});
    c.pass(60);
    CHECK(c.decide() == counts{8});
}

// Table 1 of the paper: configurations 1A, 2A, 1B, 2B, 4B; 2 A and 4 B. The best sum is 5.6.
TEST_CASE("sia: solves the worked example of the paper", "[sia]") {
    cluster<sia> c({2, 4}, sia(sums), {0, 1}, 4);
    c.submit(on_two_types({0, 1, 1.5, 0, 0, /**/ 0, 1.5, 2.5, 0, 3.5}));
    c.submit(on_two_types({0, 1.2, 2.1, 0, 0, /**/ 0, 1, 1.9, 0, 3.6}));
    CHECK(c.decide() == counts{4, 2});
    CHECK(c.of(1) == places{{1, 4}});
    CHECK(c.of(2) == places{{0, 2}});
    CHECK(c.reason_of(1) == "its configuration in the best sum of all");
    CHECK(c.fault.empty());
    cluster<sia> near({2, 4}, sia({.p = 1, .doubling = false, .steps = 0}), {0, 1}, 4);
    near.submit(on_two_types({0, 1, 1.5, 0, 0, /**/ 0, 1.5, 2.5, 0, 3.5}));
    near.submit(on_two_types({0, 1.2, 2.1, 0, 0, /**/ 0, 1, 1.9, 0, 3.6}));
    CHECK(near.decide() == counts{4, 2});
}

TEST_CASE("sia: goodputs are scaled to the minimum of devices before they are added up", "[sia]") {
    cluster<sia> c({4}, sia(sums));
    c.submit({.least = 1, .most = 4, .goodput = {0, 100, 200, 300, 400}});
    c.submit({.least = 1, .most = 4, .goodput = {0, 1, 1.9, 2.5, 3.1}});
    CHECK(c.decide() == counts{2, 2});  // 2 + 1.9 and lambda for both; in steps/s all would go to the first
}

// With 1, 2 and 4 devices a job costs 1, 0.707 and 0.5, without any lambda. At 1.1 a job that starts gains 0.1 and one
// that doubles 0.293; at 2 the former gains 1. The fifth, scaled to 4, costs 0.5 on four devices: 2 - 0.5 < 4 * (2 -
// 1).
TEST_CASE("sia: lambda weighs jobs that start against those that grow", "[sia]") {
    cluster<sia> published({4}, sia({.doubling = false})), high({4}, sia({.lambda = 2, .doubling = false}));
    for (int i = 0; i < 4; ++i) {
        published.submit({.least = 1, .most = 4});
        high.submit({.least = 1, .most = 4});
    }
    CHECK(published.decide() == counts{2, 2, 0, 0});
    CHECK(high.decide() == counts{1, 1, 1, 1});
    high.submit({.least = 4, .most = 4});
    high.pass(60);
    CHECK(high.decide() == counts{1, 1, 1, 1, 0});
}

TEST_CASE("sia: a job starts at its minimum and at most doubles in a round", "[sia]") {
    cluster<sia> c({4, 4, 4});
    c.submit({.least = 1, .most = 12});
    std::vector<std::int64_t> steps;
    for (int round = 0; round < 6; ++round) {
        steps.push_back(c.decide()[0]);
        c.pass(60);
    }
    CHECK(steps == counts{1, 2, 4, 8, 12, 12});
    CHECK(c.fault.empty());
}

TEST_CASE("sia: without at_changes decides once in a round, or when a node fails", "[sia]") {
    cluster<sia> c({4, 4}, sia({.at_changes = false}));
    c.submit({.least = 1, .most = 4});
    CHECK(c.decide() == counts{1});
    c.pass(59);
    c.submit({.least = 1, .most = 4});
    CHECK(c.decide() == counts{1, 0});
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{1, 1});
    CHECK(c.of(1) == places{{1, 1}});
    CHECK(c.fault.empty());
}

// Age 100 s, no restarts, 50 s each: the factor is 100/150. On 4 devices 4 * 2/3 > 2, on 3 of goodput 2.9 * 2/3 < 2.
TEST_CASE("sia: a running job moves only for more than its restart costs", "[sia]") {
    for (auto const& [more, expected] : {std::pair{2.9, counts{2}}, {3.1, counts{4}}}) {
        cluster<sia> c({4}, sia(sums));
        c.submit({.least = 2, .most = 4, .goodput = {0, 0, 1, 0, 0}});
        c.store[c.columns.restart_cost][0] = 50;
        c.decide();
        c.store[c.goodput][4] = more / 2;
        c.pass(100);
        CHECK(c.decide() == expected);
    }
    cluster<sia> often({4}, sia(sums));
    often.submit({.least = 2, .most = 4, .goodput = {0, 0, 1, 0, 0}});
    often.store[often.columns.restart_cost][0] = 50;
    often.decide();
    often.store[often.goodput][4] = 1000;
    often.store[often.restarts][0] = 2;
    often.pass(100);
    CHECK(often.decide() == counts{2});  // (100 - 2 * 50) / 150
}

TEST_CASE("sia: several nodes are whole nodes, and a part of a node is on one", "[sia]") {
    cluster<sia> c({4, 4, 4}, sia({.doubling = false}));
    c.submit({.least = 2, .most = 2});
    c.submit({.least = 8, .most = 8});
    c.submit({.least = 1, .most = 1});
    CHECK(c.decide() == counts{2, 8, 1});
    CHECK(c.of(2) == places{{0, 4}, {1, 4}});
    CHECK(c.of(1) == places{{2, 2}});
    CHECK(c.of(3) == places{{2, 1}});
    CHECK(c.fault.empty());
}

TEST_CASE("sia: the table's answer is the best, that of prices is near it and below its bound", "[sia]") {
    ration::rng_sequence rng(5);
    double worst = 1;
    for (int round = 0; round < 300; ++round) {
        std::vector<std::vector<ration::policies::detail::configuration>> jobs;
        counts const capacities{static_cast<std::int64_t>(2 + rng.below(5)),
                                static_cast<std::int64_t>(1 + rng.below(8))};
        configuration_choice exact, near;
        exact.begin(capacities);
        near.begin(capacities);
        for (int j = 0; j < 6; ++j) {
            jobs.push_back(made_up_options(rng));
            exact.add_job();
            near.add_job();
            for (auto const& option : jobs.back()) {
                exact.add(option);
                near.add(option);
            }
        }
        double const best = best_by_counting(jobs, 0, capacities);
        REQUIRE(exact.solve(1'000'000));
        CHECK(exact.value() == Approx(best));
        REQUIRE_FALSE(near.solve(0));
        CHECK(near.value() <= best * (1 + 1e-12));
        CHECK(near.bound() >= best * (1 - 1e-12));
        worst = std::min(worst, near.value() / best);
        counts used{0, 0};
        for (std::size_t j = 0; j < 6; ++j)
            if (auto const* c = near.chosen(j)) used[c->type] += c->devices;
        CHECK((used[0] <= capacities[0] && used[1] <= capacities[1]));
    }
    CHECK(worst > 0.75);  // six jobs on a handful of devices; the gap is about that of one job
}

TEST_CASE("sia: parameters of sia that make no sense are refused", "[sia]") {
    CHECK(sia_parameters{}.problem().empty());
    CHECK_FALSE(sia_parameters{.p = 0}.problem().empty());
    CHECK_FALSE(sia_parameters{.lambda = 0}.problem().empty());
    CHECK_FALSE(sia_parameters{.round = -1}.problem().empty());
    CHECK_FALSE(sia_parameters{.steps = -1}.problem().empty());
}

TEST_CASE("sia: feasible answers in any cluster", "[sia]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, sia({.round = 60}), false, 2, false) == "");
        CHECK(trouble(seed, sia({.round = 0, .steps = 0}), false, 3, false) == "");
        CHECK(trouble(seed, sia({.p = 0.5, .doubling = false}), true, 1, false) == "");
    }
}
