// SPDX-License-Identifier: BSL-1.0
// max_min: no job could have more without taking it from one that has no more for its weight.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ration/policies/max_min.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "support/allocations.hpp"
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
    CHECK(c.decide() == counts{0, 3});  // the round continues
    CHECK(c.fault.empty());
}

TEST_CASE("max_min: feasible answers in any cluster", "[max_min]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, max_min{}, false) == "");
        CHECK(trouble(seed, max_min({.round = 100}), true) == "");
    }
}

namespace {

[[nodiscard]] cluster<max_min> divided_by(std::vector<ration::tenant_description> const& tenants, std::int64_t devices,
                                          double round = 360) {
    cluster<max_min> c({devices}, max_min({.round = round, .by_tenant = true}));
    c.set_tenants(tenants);
    return c;
}
void submit_weighted(cluster<max_min>& c, std::uint32_t tenant, std::int64_t most, double weight = 1) {
    c.submit({.least = 1, .most = most, .tenant = tenant, .weight = weight});
}

}  // namespace

TEST_CASE("max_min by tenant: a tenant with more jobs has no more devices", "[max_min][tenants]") {
    for (auto const& [weight, expected] : {std::pair<double, counts>{1, {6, 2, 2, 2}}, {3, {9, 1, 1, 1}}}) {
        auto c = divided_by(weighing({weight, 1}), 12);
        submit_weighted(c, 0, 12);
        for (int i = 0; i < 3; ++i) submit_weighted(c, 1, 12);
        CHECK(c.decide() == expected);
        CHECK(c.fault.empty());
    }
}

TEST_CASE("max_min by tenant: the weights of jobs count within their tenant", "[max_min][tenants]") {
    auto c = divided_by(weighing({1, 1}), 8);
    submit_weighted(c, 0, 8, 1);
    submit_weighted(c, 0, 8, 3);
    submit_weighted(c, 1, 8, 100);
    submit_weighted(c, ration::no_tenant, 8);
    c.end(4);
    CHECK(c.decide() == counts{1, 3, 4});
    submit_weighted(c, ration::no_tenant, 8, 2);  // beside both tenants, with twice their weight
    CHECK(c.decide() == counts{1, 1, 2, 4});
}

// Of its six devices, the lab's first group can use one.
TEST_CASE("max_min by tenant: what a tenant cannot use goes to its own cohort first", "[max_min][tenants]") {
    auto tenants = weighing({1, 1, 1, 1});
    tenants[1].parent = tenants[2].parent = 0;
    auto c = divided_by(tenants, 12);
    submit_weighted(c, 1, 1);
    submit_weighted(c, 2, 12);
    submit_weighted(c, 3, 12);
    CHECK(c.decide() == counts{1, 5, 6});
    c.end(2);
    CHECK(c.decide() == counts{1, 11});
    submit_weighted(c, 0, 12);  // of the lab itself
    CHECK(c.decide() == counts{1, 6, 5});
    CHECK(c.fault.empty());
}

TEST_CASE("max_min by tenant: an odd device stays with the tenant that has it", "[max_min][tenants]") {
    auto c = divided_by(weighing({1, 1}), 5);
    submit_weighted(c, 1, 8);
    CHECK(c.decide() == counts{5});
    submit_weighted(c, 0, 8);
    CHECK(c.decide() == counts{3, 2});
    CHECK(c.decide() == counts{3, 2});
}

TEST_CASE("max_min by tenant: tenants take turns where not all fit", "[max_min][tenants]") {
    auto c = divided_by(weighing({1, 1}), 1, 10);
    for (int i = 0; i < 3; ++i) submit_weighted(c, 0, 1);
    submit_weighted(c, 1, 1);
    std::int64_t of_second = 0;
    for (int round = 0; round < 60; ++round) {
        of_second += c.decide()[3];
        c.pass(10);
    }
    CHECK(of_second >= 29);
    CHECK(of_second <= 31);
    CHECK(c.fault.empty());
}

namespace {

/// A tree of tenants with weights that change.
void change_weights(ration::snapshot_store& store, std::uint64_t tick) {
    auto const weight = must(store.find<double>("tenants/weight"));
    auto const parent = must(store.find<std::uint32_t>("tenants/parent"));
    for (std::uint32_t t = 0; t < store.rows(table_id::tenants); ++t) {
        store[weight][t] = static_cast<double>((tick / 20 + t) % 3 + 1);
        store[parent][t] = t % 2 == 1 ? t - 1 : ration::no_tenant;
    }
}

}  // namespace

TEST_CASE("max_min by tenant: feasible answers in any cluster, and the laws of policies", "[max_min][tenants][laws]") {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, max_min({.by_tenant = true}), false) == "");
        auto const kept = ration::testing::policy_laws([] { return max_min({.round = 3, .by_tenant = true}); },
                                                       {.seed = seed,
                                                        .ticks = 300,
                                                        .most = {.jobs = 8, .nodes = 2},
                                                        .fill = change_weights,
                                                        .allocations = allocations});
        INFO(std::string(kept ? "" : kept.failure().operation)
             << std::string(kept ? "" : kept.failure().subject.view()));
        CHECK(kept);
    }
}
