// SPDX-License-Identifier: BSL-1.0
// Resources that are settings: each job has its own amount, and no node a capacity.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ration/host/tenants.hpp>
#include <ration/setting.hpp>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::divisibility;
using ration::max_amount;
using ration::unlimited;

namespace {

constexpr auto soft = resource_id::first_custom;

/// A host that adds one resource to the standard ones: `memory.soft`, or for comparison the same with a capacity.
struct setting_rig {
    std::array<ration::resource_info, 7> resources{};
    ration::snapshot_store store;
    ration::standard_columns columns;
    ration::fake::backend backend{{resource_id::cpu, resource_id::memory, soft}};
    scripted policy, fallback;
    ration::engine<ration::fake::backend> engine;

    explicit setting_rig(std::size_t jobs, bool is_setting = true, ration::settle_rules settle = rig::at_once)
        : engine(backend, policy, fallback, store, columns, resources, {.settle = settle}) {
        std::ranges::copy(ration::standard_resources, resources.begin());
        resources[6] = ration::info_of<ration::memory_soft>();
        if (!is_setting) resources[6].granularity = divisibility::fractional;
        columns = must(ration::standard_columns::declare(store, resources));
        must(store.resize(table_id::nodes, 1));
        must(store.resize(table_id::jobs, jobs));
        for (std::size_t row = 0; row < jobs; ++row) {
            store[columns.id][row] = row + 1;
            store[columns.state][row] = static_cast<std::uint32_t>(job_state::running);
            for (auto const& r : columns.resources) store[r.maximum][row] = unlimited;
            backend.add({row + 1});
        }
        must(engine.bind({.jobs = jobs, .nodes = 1}));
    }

    [[nodiscard]] static ration::grant of(std::uint32_t job, std::int64_t amount) {
        return {.job = job, .node = 0, .resource = static_cast<std::uint16_t>(soft), .amount = amount};
    }
    ration::tick_report tick_with(std::vector<ration::grant> answer, double second = 1) {
        policy.answer = std::move(answer);
        return engine.tick(ration::seconds(second), ration::tick_mode::apply);
    }
    [[nodiscard]] ration::resource_columns const& soft_columns() const {
        return columns.resources[static_cast<std::size_t>(soft)];
    }
};

/// Finds numbers of resources.
struct asking {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<>;
    static constexpr ration::meta about{.id = "org.example.asking", .version = "1.0.0"};
    std::optional<resource_id> soft_memory, cache, unknown;

    [[nodiscard]] ration::status prepare(ration::limits const& most) noexcept {
        soft_memory = ration::find_resource(most, "memory.soft");
        cache = ration::find_resource(most, "cache");
        unknown = ration::find_resource(most, "memory.sof");
        return ration::status::ok;
    }
    [[nodiscard]] static ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept {
        return ration::status::ok;
    }
};

/// Needs a resource.
struct needy {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<>;
    static constexpr ration::meta about{.id = "org.example.needy", .version = "1.0.0"};

    [[nodiscard]] static ration::status prepare(ration::limits const& most) noexcept {
        return ration::find_resource(most, "memory.soft") ? ration::status::ok : ration::status::unsupported;
    }
    [[nodiscard]] static ration::status decide(ration::tick<inputs> const&, ration::grants&) noexcept {
        return ration::status::ok;
    }
};

}  // namespace

TEST_CASE("settings: no capacity limits them, alone or together", "[engine][settings]") {
    setting_rig r(3);
    auto const report = r.tick_with({r.of(0, 1 << 20), r.of(1, max_amount), r.of(2, max_amount)});
    CHECK(report.rejected.empty());
    CHECK(report.deferred.empty());
    for (std::uint64_t job : {1, 2, 3})
        CHECK(r.backend.amount({job}, soft).value() == (job == 1 ? 1 << 20 : max_amount));
    CHECK(r.store[r.soft_columns().held][0] == 1 << 20);
    CHECK(r.store[r.soft_columns().free][0] == 0);
    // The same amounts of a resource that nodes have none of
    setting_rig shared(3, false);
    auto const refused = shared.tick_with({r.of(0, 1 << 20), r.of(1, 5), r.of(2, 7)});
    REQUIRE(refused.rejected.size() == 3);
    CHECK(refused.rejected[0].rule == check_rule::over_capacity);
}

TEST_CASE("settings: no sum of them overflows", "[engine][settings]") {
    constexpr std::size_t jobs = 1100;  // 1024 times the largest amount is 2^63
    setting_rig r(jobs);
    std::vector<ration::grant> all;
    for (std::uint32_t job = 0; job < jobs; ++job) all.push_back(r.of(job, max_amount));
    all.push_back(r.of(0, -1));  // a faulty row: all rows are checked one by one
    auto const some = r.tick_with(all, 1);
    CHECK(some.rejected.size() == 2);
    CHECK(some.changes.size() == jobs - 1);
    all.pop_back();
    auto const rest = r.tick_with(all, 2);
    CHECK(rest.rejected.empty());
    CHECK(r.engine.holdings().sum(0, soft) == 0);
    CHECK(r.engine.holdings().amount({jobs}, 0, soft) == max_amount);
    CHECK(r.tick_with({r.of(0, 0)}, 3).rejected.empty());
    CHECK(r.engine.holdings().sum(0, soft) == 0);
}

TEST_CASE("settings: a claim leaves the reservations at 0, and a release too", "[engine][settings]") {
    ration::ledger held;
    held.reset(1, 7, 4);
    held.omit_sums(soft);
    held.set({.job = {1}, .node = 0, .resource = soft, .amount = 100}, {});
    ration::reservations sums;
    sums.prepare(1, 7);
    sums.start(held);
    std::array const asked{setting_rig::of(0, 40), setting_rig::of(1, max_amount)};
    std::array const rows{ration::checked_grant{.job = {1}, .held = 100, .asked = &asked[0]},
                          ration::checked_grant{.job = {2}, .held = 0, .asked = &asked[1]}};
    auto const sum_after = [&](auto const& act) {
        act();
        return sums.at(0, soft);
    };
    auto const no_capacity = [](std::uint32_t, resource_id) { return unlimited; };
    CHECK(sum_after([&] { CHECK(sums.exchange(rows, no_capacity)); }) == 0);
    CHECK(sum_after([&] { sums.revert(rows); }) == 0);
    CHECK(sum_after([&] { sums.yield(rows); }) == 0);
    // Of a resource with a capacity each of them is counted
    held.reset(1, 7, 4);
    sums.start(held);
    CHECK(sum_after([&] { CHECK(sums.exchange(rows, no_capacity)); }) == max_amount - 60);
    CHECK(sum_after([&] { sums.revert(rows); }) == 0);
}

TEST_CASE("settings: growth of them is accepted in one pass", "[engine][settings]") {
    setting_rig r(300);
    ration::detail::good_answer good;
    good.prepare(1, 7, 600);
    ration::buffer<ration::checked_grant> accepted;
    accepted.reserve(600);
    std::vector<ration::grant> all;
    for (std::uint32_t job = 0; job < 300; ++job) all.push_back(r.of(job, max_amount));
    ration::detail::grant_rules const rules(r.store, r.columns, r.resources);
    using outcome = ration::detail::good_answer::outcome;
    CHECK(good.accept(rules, r.engine.holdings(), all, accepted) == outcome::good);
    // Jobs with two rows each, which are not plain
    all.clear();
    for (std::uint32_t job = 0; job < 300; ++job) {
        all.push_back({.job = job, .node = 0, .resource = 0, .amount = 0});
        all.push_back(r.of(job, max_amount));
    }
    CHECK(good.accept(rules, r.engine.holdings(), all, accepted) == outcome::good);
    setting_rig shared(300, false);
    ration::detail::grant_rules const bounded(shared.store, shared.columns, shared.resources);
    CHECK(good.accept(bounded, shared.engine.holdings(), {all.data(), 2}, accepted) == outcome::over_capacity);
}

TEST_CASE("settings: bounds of a job, wrong amounts and unlimited are as for other resources", "[engine][settings]") {
    setting_rig r(1);
    r.store[r.soft_columns().minimum][0] = 100;
    r.store[r.soft_columns().maximum][0] = 200;
    auto const rule = [&](std::int64_t amount) {
        auto const report = r.tick_with({r.of(0, amount)});
        return report.rejected.empty() ? check_rule::passed : report.rejected[0].rule;
    };
    CHECK(rule(99) == check_rule::below_minimum);
    CHECK(rule(201) == check_rule::above_maximum);
    CHECK(rule(-1) == check_rule::negative_amount);
    CHECK(rule(150) == check_rule::passed);
    CHECK(rule(unlimited) == check_rule::passed);
    CHECK(r.backend.amount({1}, soft).value() == 200);  // no more than the job accepts
    CHECK(rule(0) == check_rule::passed);
    CHECK(r.engine.holdings().amount({1}, 0, soft) == 0);
}

TEST_CASE("settings: no dead band holds a small change back, but a dwell time does", "[engine][settings]") {
    setting_rig r(1, true, {.dead_band = 0.5, .dwell = ration::seconds(10), .grace = {}});
    static_cast<void>(r.tick_with({r.of(0, 1000)}, 1));
    auto const early = r.tick_with({r.of(0, 1001)}, 2);
    REQUIRE(early.deferred.size() == 1);
    CHECK(early.deferred[0].why == ration::deferral::dwell);
    static_cast<void>(r.tick_with({r.of(0, 1001)}, 12));
    CHECK(r.backend.amount({1}, soft).value() == 1001);
}

TEST_CASE("settings: a policy finds the number of a resource by its name", "[engine][settings]") {
    setting_rig r(1);
    ration::policy_adapter<asking> policy;
    ration::engine engine(r.backend, policy, r.fallback, r.store, r.columns, r.resources, {});
    must(engine.bind({.jobs = 1, .nodes = 1}));
    CHECK(policy.policy().soft_memory == soft);
    CHECK(policy.policy().cache == resource_id::cache);
    CHECK_FALSE(policy.policy().unknown);
    // Without names a host has the first standard resources
    ration::limits most{.jobs = 1, .nodes = 1};
    CHECK(ration::find_resource(most, "batch") == resource_id::batch);
    CHECK_FALSE(ration::find_resource(most, "memory.soft"));
    most.resources = 2;
    CHECK(ration::find_resource(most, "memory") == resource_id::memory);
    CHECK_FALSE(ration::find_resource(most, "gpu"));
}

TEST_CASE("settings: a policy refuses a host without a resource that it needs", "[engine][settings]") {
    setting_rig r(1);
    ration::policy_adapter<needy> policy;
    ration::engine engine(r.backend, policy, r.fallback, r.store, r.columns, r.resources, {});
    must(engine.bind({.jobs = 1, .nodes = 1}));
    auto const refused = policy.bind(r.store.schema(), {.jobs = 1, .nodes = 1});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == ration::errc::not_supported);
    CHECK(refused.failure().subject == "org.example.needy");
    CHECK(std::string_view(refused.failure().remedy) ==
          "this host lacks a resource that it needs: choose a policy that does without, or a host that has it");
}

TEST_CASE("settings: tenants share none, so they have neither sums nor limits of them", "[engine][settings]") {
    setting_rig r(2);
    ration::tenant_description owner{.id = 1};
    owner.limit = ration::all_amounts(10);
    must(ration::fill_tenants(r.store, r.columns, std::span(&owner, 1)));
    auto const& memory = r.columns.resources[1];
    r.store[memory.capacity][0] = 1000;
    must(r.engine.bind({.jobs = 2, .nodes = 1, .tenants = 1}));
    auto const both = [&](std::uint32_t job, std::int64_t bytes) {
        return std::vector{r.of(job, max_amount), ration::grant{.job = job, .resource = 1, .amount = bytes}};
    };
    CHECK(r.tick_with(both(0, 6), 1).changes.size() == 2);
    CHECK(r.tick_with(both(1, 4), 2).changes.size() == 2);
    for (std::uint64_t job : {1, 2}) CHECK(r.backend.amount({job}, soft).value() == max_amount);
    auto const& of_tenants = r.soft_columns().of_tenants;
    CHECK((r.store[of_tenants.held][0] == 0 && r.store[of_tenants.demand][0] == 0));
    CHECK(r.store[memory.of_tenants.held][0] == 10);
    auto const beyond = r.tick_with(both(0, 7), 3);  // the limit of memory counts
    REQUIRE(!beyond.rejected.empty());
    CHECK(beyond.rejected[0].rule == check_rule::over_tenant_limit);
}
