// SPDX-License-Identifier: BSL-1.0
// save_by_age: intervals of checkpoints from the hazard of the nodes of a job, and the cost of a checkpoint.
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ration/policies/save_by_age.hpp>
#include <ration/testing/synthetic_columns.hpp>

#include "rig.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::save_by_age;
using ration::policies::save_by_age_parameters;

namespace {

constexpr auto intervals = resource_id::first_custom;

/// Two nodes of 4 devices. Grants come into force at once.
struct servers {
    ration::snapshot_store store;
    ration::standard_columns columns =
        must(ration::standard_columns::declare(store, ration::testing::synthetic_resources));
    ration::column<std::int64_t> request = must(store.declare<std::int64_t>("jobs/request.gpu"));
    ration::fake::backend backend{{resource_id::cpu, resource_id::memory, resource_id::gpu, intervals}};
    ration::policy_adapter<save_by_age> policy;
    scripted fallback;
    ration::engine<ration::fake::backend> engine;
    double now = 0;

    explicit servers(std::size_t jobs, save_by_age_parameters const& p = {})
        : policy(save_by_age(p)), engine(backend, policy, fallback, store, columns,
                                         ration::testing::synthetic_resources, {.settle = rig::at_once}) {
        for (std::string_view const name : {"jobs/save_cost", "nodes/hazard"}) must(columns.add(store, name));
        must(store.resize(table_id::nodes, 2));
        must(store.resize(table_id::jobs, jobs));
        for (std::size_t node = 0; node < 2; ++node) store[of(resource_id::gpu).capacity][node] = 4;
        for (std::size_t row = 0; row < jobs; ++row) {
            store[columns.id][row] = row + 1;
            store[columns.state][row] = static_cast<std::uint32_t>(job_state::queued);
            store[columns.get<"jobs/save_cost">()][row] = 5;
            store[request][row] = 1;
            for (auto const& r : columns.resources) store[r.maximum][row] = unlimited;
            backend.add({row + 1});
        }
        must(engine.bind({.jobs = jobs, .nodes = 2}));
    }
    [[nodiscard]] ration::resource_columns const& of(resource_id r) const {
        return columns.resources[static_cast<std::size_t>(r)];
    }
    void set_hazard(double first, double second) {
        store[columns.get<"nodes/hazard">()][0] = first;
        store[columns.get<"nodes/hazard">()][1] = second;
    }
    /// The changes of one tick.
    std::size_t pass() {
        store.changes().mark_everything();
        auto const report = engine.tick(ration::seconds(now += 1), ration::tick_mode::apply);
        REQUIRE(report.rejected.empty());
        return report.changes.size();
    }
    [[nodiscard]] std::int64_t held(std::size_t row) const { return store[of(intervals).held][row]; }
};

/// sqrt(2 C / h) in milliseconds, rounded down.
[[nodiscard]] std::int64_t young(double cost, double hazard) {
    return static_cast<std::int64_t>(1000 * std::sqrt(2 * cost / hazard));
}

}  // namespace

TEST_CASE("save_by_age: the interval is sqrt(2 C / h) of the job's nodes together", "[save_by_age]") {
    servers s(3);
    s.store[s.request][1] = 5;  // on both nodes
    s.store[s.columns.get<"jobs/save_cost">()][2] = 20;
    s.set_hazard(1e-4, 3e-4);
    CHECK(s.pass() == 4);  // devices on node 0, on both, and on node 0
    CHECK(s.held(0) == 0);
    CHECK(s.pass() == 3);
    CHECK(s.held(0) == young(5, 1e-4));
    CHECK(s.held(1) == young(5, 4e-4));
    CHECK(s.held(2) == young(20, 1e-4));
    CHECK(s.pass() == 0);
}

TEST_CASE("save_by_age: it follows the hazard, and leaves an interval that is off by 1 % or less", "[save_by_age]") {
    servers s(1);
    s.set_hazard(1e-4, 0);
    s.pass();
    s.pass();
    auto const before = s.held(0);
    s.set_hazard(1e-4 * 1.015, 0);  // 0.75 % shorter
    CHECK(s.pass() == 0);
    CHECK(s.held(0) == before);
    s.set_hazard(1e-4 * 1.03, 0);  // 1.5 %
    CHECK(s.pass() == 1);
    CHECK(s.held(0) == young(5, 1e-4 * 1.03));
}

TEST_CASE("save_by_age: shortest and longest bound the interval, and so does the job", "[save_by_age]") {
    servers s(3, {.longest = 600, .shortest = 30});
    s.store[s.of(intervals).maximum][1] = 100'000;
    s.store[s.of(intervals).minimum][2] = 700'000;
    s.set_hazard(0, 0);
    s.pass();
    s.pass();
    CHECK(s.held(0) == 600'000);
    CHECK(s.held(1) == 100'000);
    CHECK(s.held(2) == 700'000);
    s.set_hazard(1, 1);  // lost within seconds
    s.pass();
    CHECK(s.held(0) == 30'000);
    s.store[s.columns.get<"jobs/save_cost">()][0] = 0;
    s.set_hazard(1e-4, 1e-4);
    s.pass();
    CHECK(s.held(0) == 30'000);  // saves that cost nothing
    CHECK(s.held(1) == 100'000);
}

TEST_CASE("save_by_age: a job that waits or has lost its node gets no interval", "[save_by_age]") {
    servers s(3);
    s.store[s.request][0] = 8;
    s.set_hazard(1e-4, 1e-4);
    s.pass();
    s.pass();
    CHECK(s.held(0) == young(5, 2e-4));
    CHECK(s.held(1) == 0);
    CHECK(s.held(2) == 0);
    s.store[s.of(resource_id::gpu).capacity][1] = 0;
    s.pass();  // the job is stopped, and requests more than there is: others start
    CHECK(s.store[s.of(resource_id::gpu).held][0] == 0);
    CHECK(s.held(1) == 0);
    s.pass();
    CHECK(s.held(1) == young(5, 1e-4));
    CHECK(s.held(0) == young(5, 2e-4));  // as before: it does not run
}

TEST_CASE("save_by_age: a host without the resource is refused by its name", "[save_by_age]") {
    save_by_age policy;
    CHECK(policy.prepare({.jobs = 1, .nodes = 1}) == ration::status::unsupported);
    std::array const only{ration::info_of<ration::save_interval>()};
    CHECK(policy.prepare({.jobs = 1, .nodes = 1, .resources = 1, .resource_table = only.data()}) == ration::status::ok);
}

TEST_CASE("save_by_age: wrong parameters are refused in a sentence", "[save_by_age]") {
    CHECK(save_by_age_parameters{}.problem().empty());
    CHECK(save_by_age_parameters{.longest = 0}.problem() ==
          "longest is a time in seconds: write a number above 0 and at most 1000000");
    CHECK(save_by_age_parameters{.longest = 10, .shortest = 11}.problem() ==
          "shortest is a time in seconds: write a number from 0.001 to longest");
    CHECK_FALSE(save_by_age_parameters{.shortest = std::nan("")}.problem().empty());
}
