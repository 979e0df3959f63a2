// SPDX-License-Identifier: BSL-1.0
#include <ration/fake/backend.hpp>
#include <ration/host/engine.hpp>

#include "kitchen.hpp"
#include "parameters.hpp"

using namespace cookbook;
using Amounts = std::vector<std::int64_t>;

namespace {

std::vector<ration::capacities> const four_cores{{.cpu = 4000}};

template <class Policy>
void keeps_the_laws() {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        auto const kept = ration::testing::policy_laws([] { return Policy{}; },
                                                       {.seed = seed, .ticks = 300, .allocations = allocations});
        if (!kept) FAIL(Policy::about.id << ": " << kept.failure().operation << ": " << kept.failure().subject.view());
    }
}

}  // namespace

TEST_CASE("recipes that share cores keep the laws", "[cookbook]") {
    keeps_the_laws<equal_within_bounds>();
    keeps_the_laws<by_tenant_and_weight>();
    keeps_the_laws<follows_use>();
    keeps_the_laws<tier_share>();
}

TEST_CASE("bounds: what a job cannot take is there for the later ones, and a minimum that is not there is 0",
          "[cookbook]") {
    equal_within_bounds policy;
    CHECK(amounts(policy, {{.number = 1, .cpu = {0, 500}}, {.number = 2}, {.number = 3}}, resource_id::cpu,
                  four_cores) == Amounts{500, 1750, 1750});
    CHECK(amounts(policy, {{.number = 1, .cpu = {3500, 4000}}, {.number = 2, .cpu = {1000, 4000}}}, resource_id::cpu,
                  four_cores) == Amounts{3500, 0});
}

TEST_CASE("tenants: each has the same, and its jobs share it by their weights", "[cookbook]") {
    by_tenant_and_weight policy;
    std::vector<trainee> const jobs{
        {.number = 1, .tenant = 7}, {.number = 2, .tenant = 9, .weight = 3}, {.number = 3, .tenant = 9}};
    CHECK(amounts(policy, jobs, resource_id::cpu, four_cores) == Amounts{2000, 1500, 500});
    CHECK(amounts(policy,
                  {{.number = 1, .weight = -1}, {.number = 2, .weight = std::numeric_limits<double>::quiet_NaN()}},
                  resource_id::cpu, four_cores) == Amounts{2000, 2000});
}

TEST_CASE("parameters: a reached tier is worth what they say", "[cookbook]") {
    std::vector<trainee> const jobs{{.number = 1, .loss = 1}, {.number = 2, .loss = 0.4}};
    tier_share usual, strict({.reached = 0.25, .idle_rest = true});
    CHECK(amounts(usual, jobs, resource_id::cpu, {{.cpu = 3000}}) == Amounts{2000, 1000});
    CHECK(amounts(strict, jobs, resource_id::cpu, {{.cpu = 5000}}) == Amounts{3600, 900});
    CHECK_FALSE(tier_share_parameters{.reached = 1.5}.problem().empty());
}

TEST_CASE("hysteresis: a policy without any changes little from tick to tick, and the engine does nothing about it",
          "[cookbook]") {
    ration::fake::backend machine({resource_id::cpu, resource_id::memory});
    ration::snapshot_store store;
    auto const columns = *ration::standard_columns::declare(store, ration::standard_resources);
    REQUIRE((store.resize(ration::table_id::jobs, 2) && store.resize(ration::table_id::nodes, 1)));
    store[columns.resources[0].capacity][0] = 4000;
    for (std::size_t row = 0; row < 2; ++row) {
        machine.add({row + 1});
        store[columns.id][row] = row + 1;
        store[columns.state][row] = 1;
        for (auto const& r : columns.resources) store[r.maximum][row] = ration::unlimited;
    }
    ration::policy_adapter<follows_use> policy, fallback;
    ration::engine<ration::fake::backend> engine(machine, policy, fallback, store, columns, ration::standard_resources,
                                                 {});
    REQUIRE(engine.bind({.jobs = 2, .nodes = 1}));
    auto const second = [&](double now, std::int64_t first_uses, std::int64_t other_uses) {
        static ration::nanoseconds first{}, other{};
        first = first + ration::milliseconds(first_uses);
        other = other + ration::milliseconds(other_uses);
        machine.set_usage({1}, {.cpu_time = first, .memory = {}, .throttled = {}, .processes = 1});
        machine.set_usage({2}, {.cpu_time = other, .memory = {}, .throttled = {}, .processes = 1});
        return engine.tick(ration::seconds(now));
    };
    second(1, 0, 0);
    second(10, 9000, 9000);  // both use a core
    CHECK(machine.amount({1}, resource_id::cpu) == 2000);
    auto const calm = second(20, 10'000, 10'050);  // half a per cent more
    CHECK(calm.changes.empty());
    CHECK(calm.deferred.size() == 2);
    CHECK(calm.deferred[0].why == ration::deferral::dead_band);
    CHECK(machine.amount({1}, resource_id::cpu) == 2000);
    CHECK(second(30, 10'000, 30'000).changes.size() == 2);
    CHECK(machine.amount({1}, resource_id::cpu) < 2000);
}
