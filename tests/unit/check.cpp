// SPDX-License-Identifier: BSL-1.0
#include <limits>
#include <set>

#include "answer.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::grant;
using ration::max_amount;
using ration::unlimited;

namespace {

constexpr auto cpu = static_cast<std::uint16_t>(resource_id::cpu);
constexpr auto memory = static_cast<std::uint16_t>(resource_id::memory);
constexpr auto gpu = static_cast<std::uint16_t>(resource_id::gpu);

/// The one row of the answer is refused for this reason, and nothing is accepted.
void refused(host const& h, grant const& g, check_rule why) {
    answer a(h);
    a.check({g});
    CHECK(a.accepted.empty());
    REQUIRE(a.rejected.size() == 1);
    CHECK(a.rejected[0] == ration::rejection{0, why});
}

void accepted(host const& h, grant const& g) {
    answer a(h);
    a.check({g});
    CHECK(a.rejected.empty());
    CHECK(a.accepted.size() == 1);
}

}  // namespace

TEST_CASE("check: a grant that passes keeps what it says and learns what is held", "[check]") {
    host h(3);
    h.hold(1, resource_id::cpu, 300);
    answer a(h);
    a.check({{.job = 1, .node = 0, .resource = cpu, .reason = 7, .group = 0, .amount = 500}});
    REQUIRE(a.accepted.size() == 1);
    auto const& g = a.accepted[0];
    CHECK(g.what() == ration::setting{{2}, 0, resource_id::cpu, 500});
    CHECK(g.held == 300);
    CHECK(g.growth() == 200);
    CHECK(g.job_row() == 1);
    CHECK(a.row_of(g) == 0);
    CHECK(g.reason() == 7);
}

TEST_CASE("check: rule: unknown job", "[check]") {
    host h(2);
    refused(h, {.job = 2, .amount = 20}, check_rule::unknown_job);
    refused(h, {.job = std::numeric_limits<std::uint32_t>::max(), .amount = 20}, check_rule::unknown_job);
    accepted(h, {.job = 1, .amount = 20});
}

TEST_CASE("check: rule: unknown node", "[check]") {
    host h(1, 2);
    refused(h, {.node = 2, .amount = 20}, check_rule::unknown_node);
    refused(h, {.node = std::numeric_limits<std::uint32_t>::max(), .amount = 20}, check_rule::unknown_node);
    accepted(h, {.node = 1, .amount = 20});
}

TEST_CASE("check: rule: unknown resource", "[check]") {
    host h(1);
    refused(h, {.resource = 6, .amount = 1}, check_rule::unknown_resource);
    refused(h, {.resource = 65535, .amount = 1}, check_rule::unknown_resource);
    accepted(h, {.resource = 5, .amount = 1});
}

TEST_CASE("check: rule: negative amount", "[check]") {
    host h(1);
    refused(h, {.amount = -1}, check_rule::negative_amount);
    refused(h, {.amount = std::numeric_limits<std::int64_t>::min()}, check_rule::negative_amount);
    accepted(h, {.amount = 0});
}

TEST_CASE("check: rule: amount too large", "[check]") {
    host h(1);
    h.set_capacity(resource_id::cpu, max_amount);
    refused(h, {.amount = max_amount + 1}, check_rule::amount_too_large);
    refused(h, {.amount = unlimited - 1}, check_rule::amount_too_large);
    accepted(h, {.amount = max_amount});
}

TEST_CASE("check: rule: amount too small", "[check]") {
    host h(2);
    refused(h, {.amount = 1}, check_rule::amount_too_small);
    refused(h, {.amount = ration::least_cpu.count - 1}, check_rule::amount_too_small);
    accepted(h, {.amount = ration::least_cpu.count});
    for (std::uint16_t const resource : {std::uint16_t{1}, gpu, std::uint16_t{3}, std::uint16_t{4}, std::uint16_t{5}})
        accepted(h, {.resource = resource, .amount = 1});
    h.hold(0, resource_id::cpu, 300);
    accepted(h, {.amount = 0});  // a pause
    refused(h, {.job = 0, .amount = 1}, check_rule::amount_too_small);
    answer a(h);
    a.check({{.job = 0, .resource = cpu, .amount = 5},
             {.job = 0, .resource = memory, .amount = 5},
             {.job = 1, .amount = 50}});
    CHECK(a.rule_of(0) == check_rule::amount_too_small);
    CHECK(a.rule_of(1) == check_rule::broken_group);
    CHECK(a.rule_of(2) == check_rule::passed);
}

TEST_CASE("check: rule: no limit of what comes in whole units", "[check]") {
    host h(1);
    refused(h, {.resource = gpu, .amount = unlimited}, check_rule::unlimited_atomic);
    accepted(h, {.resource = cpu, .amount = unlimited});
    accepted(h, {.resource = static_cast<std::uint16_t>(resource_id::cache), .amount = unlimited});
}

TEST_CASE("check: rule: the job is not active", "[check]") {
    host h(1);
    for (auto const s : {job_state::done, job_state::failed}) {
        h.set_state(0, s);
        refused(h, {.amount = 20}, check_rule::job_not_active);
        refused(h, {.amount = unlimited}, check_rule::job_not_active);
        accepted(h, {.amount = 0});
    }
    for (auto const s : {job_state::queued, job_state::running, job_state::restarting}) {
        h.set_state(0, s);
        accepted(h, {.amount = 20});
    }
}

TEST_CASE("check: rule: below the minimum", "[check]") {
    host h(1);
    h.set_bounds(0, resource_id::cpu, 100, 200);
    refused(h, {.amount = 99}, check_rule::below_minimum);
    refused(h, {.amount = 20}, check_rule::below_minimum);
    accepted(h, {.amount = 100});
    accepted(h, {.amount = 0});
}

TEST_CASE("check: rule: above the maximum", "[check]") {
    host h(1);
    h.set_bounds(0, resource_id::cpu, 100, 200);
    refused(h, {.amount = 201}, check_rule::above_maximum);
    accepted(h, {.amount = 200});
    accepted(h, {.amount = unlimited});  // the job's own maximum still holds
}

TEST_CASE("check: bounds are those of what the job holds on all nodes together", "[check]") {
    host h(2, 3);
    h.set_bounds(0, resource_id::cpu, 300, 500);
    answer a(h);
    auto const rules = [&](std::vector<grant> rows) {
        a.check(rows);
        std::vector<check_rule> found;
        for (std::uint32_t i = 0; i < rows.size(); ++i) found.push_back(a.rule_of(i));
        return found;
    };
    using enum check_rule;
    CHECK(rules({{.job = 0, .node = 0, .amount = 100}, {.job = 0, .node = 2, .amount = 200}}) ==
          std::vector{passed, passed});
    CHECK(rules({{.job = 0, .node = 0, .amount = 100}, {.job = 0, .node = 2, .amount = 199}}) ==
          std::vector{below_minimum, below_minimum});
    CHECK(rules({{.job = 0, .node = 0, .amount = 300}, {.job = 0, .node = 1, .amount = 201}}) ==
          std::vector{above_maximum, above_maximum});
    h.hold(0, resource_id::cpu, 250, 0);
    h.hold(0, resource_id::cpu, 150, 1);
    CHECK(rules({{.job = 0, .node = 2, .amount = 100}}) == std::vector{passed});  // 500
    CHECK(rules({{.job = 0, .node = 2, .amount = 101}}) == std::vector{above_maximum});
    CHECK(rules({{.job = 0, .node = 0, .amount = 0}}) == std::vector{below_minimum});  // 150 would be left
    CHECK(rules({{.job = 0, .node = 1, .amount = 0}}) == std::vector{below_minimum});
    CHECK(rules({{.job = 0, .node = 1, .amount = 50}}) == std::vector{passed});
    CHECK(rules({{.job = 0, .node = 0, .amount = 0}, {.job = 0, .node = 1, .amount = 0}}) ==
          std::vector{passed, passed});
    // 700
    CHECK(rules({{.job = 0, .node = 2, .amount = 300}, {.job = 1, .node = 2, .amount = 20}}) ==
          std::vector{above_maximum, passed});
    CHECK(rules({{.job = 0, .node = 2, .amount = unlimited}}) == std::vector{passed});
    h.hold(0, resource_id::cpu, unlimited, 2);
    CHECK(rules({{.job = 0, .node = 0, .amount = 0}}) == std::vector{passed});
    CHECK(rules({{.job = 0, .node = 2, .amount = 101}}) == std::vector{above_maximum});  // it is limited now: 501
    CHECK(rules({{.job = 0, .node = 2, .amount = 100}}) == std::vector{passed});
}

TEST_CASE("check: rule: divided", "[check]") {
    host h(2, 2);
    answer a(h);
    a.check({{.job = 0, .node = 0, .group = 1, .amount = 20},
             {.job = 0, .node = 1, .group = 2, .amount = 20},
             {.job = 1, .group = 1, .amount = 20}});
    CHECK(a.rule_of(0) == check_rule::divided);
    CHECK(a.rule_of(1) == check_rule::divided);
    CHECK(a.rule_of(2) == check_rule::broken_group);
    a.check({{.job = 0, .node = 0, .group = 1, .amount = 20},
             {.job = 0, .node = 1, .group = 1, .amount = 20},
             {.job = 1, .group = 2, .amount = 20},
             {.job = 0, .resource = memory, .group = 2, .amount = 1}});
    CHECK(a.rejected.empty());
}

TEST_CASE("check: rule: duplicate", "[check]") {
    host h(2, 2);
    answer a(h);
    a.check({{.job = 0, .amount = 20}, {.job = 1, .group = 4, .amount = 20}, {.job = 1, .group = 5, .amount = 30}});
    CHECK(a.rule_of(0) == check_rule::passed);
    CHECK(a.rule_of(1) == check_rule::passed);
    CHECK(a.rule_of(2) == check_rule::duplicate);

    // The same amount is a duplicate too; another node or resource is none.
    a.check({{.job = 0, .amount = 20}, {.job = 0, .amount = 20}});
    CHECK(a.rule_of(1) == check_rule::duplicate);
    a.check(
        {{.job = 0, .amount = 20}, {.job = 0, .node = 1, .amount = 20}, {.job = 0, .resource = memory, .amount = 1}});
    CHECK(a.rejected.empty());
    // Each answer is checked without the earlier ones.
    a.check({{.job = 0, .amount = 20}});
    CHECK(a.rejected.empty());
}

TEST_CASE("check: rule: over the capacity", "[check]") {
    host h(2);
    accepted(h, {.amount = 1000});
    refused(h, {.amount = 1001}, check_rule::over_capacity);
    h.hold(1, resource_id::cpu, 400);
    accepted(h, {.amount = 600});
    refused(h, {.amount = 601}, check_rule::over_capacity);
}

TEST_CASE("check: rule: broken group", "[check]") {
    host h(3);
    answer a(h);
    a.check({{.job = 0, .resource = cpu, .amount = 10},
             {.job = 0, .resource = memory, .amount = -1},
             {.job = 1, .amount = 10}});
    CHECK(a.rule_of(0) == check_rule::broken_group);
    CHECK(a.rule_of(1) == check_rule::negative_amount);
    CHECK(a.rule_of(2) == check_rule::passed);
}

TEST_CASE("check: a group of several jobs goes all or none, and only it", "[check]") {
    host h(4);
    answer a(h);
    a.check({{.job = 0, .group = 1, .amount = 10},
             {.job = 1, .group = 2, .amount = 10},
             {.job = 2, .group = 1, .amount = -5},
             {.job = 3, .group = 2, .amount = 10},
             {.job = 2, .resource = memory, .group = 0, .amount = 1}});
    CHECK(a.rule_of(0) == check_rule::broken_group);
    CHECK(a.rule_of(1) == check_rule::passed);
    CHECK(a.rule_of(2) == check_rule::negative_amount);
    CHECK(a.rule_of(3) == check_rule::passed);
    CHECK(a.rule_of(4) == check_rule::passed);  // the same job, but not the same group
}

TEST_CASE("check: a group numbered like a job's row is another group", "[check]") {
    host h(4);
    answer a(h);
    a.check({{.job = 3, .amount = -1}, {.job = 0, .group = 3, .amount = 10}});
    CHECK(a.rule_of(0) == check_rule::negative_amount);
    CHECK(a.rule_of(1) == check_rule::passed);
}

TEST_CASE("check: two bad rows of one group keep their own reasons", "[check]") {
    host h(2);
    answer a(h);
    a.check({{.job = 0, .group = 1, .amount = -1},
             {.job = 9, .group = 1, .amount = 20},
             {.job = 1, .group = 1, .amount = 20}});
    CHECK(a.rule_of(0) == check_rule::negative_amount);
    CHECK(a.rule_of(1) == check_rule::unknown_job);
    CHECK(a.rule_of(2) == check_rule::broken_group);
}

namespace {

/// The rule for one grant among grants of the same node and resource to three other jobs, which all pass.
[[nodiscard]] check_rule rule_among_others(host& h, std::uint16_t resource, std::uint32_t job, std::int64_t amount) {
    answer a(h);
    std::vector<grant> rows;
    for (std::int64_t const usual : {20, 15, 0, 20})
        rows.push_back({.job = static_cast<std::uint32_t>(rows.size()), .resource = resource, .amount = usual});
    rows[job].amount = amount;
    a.check(rows);
    CHECK(a.accepted.size() + a.rejected.size() == 4);
    for (std::uint32_t row = 0; row < 4; ++row)
        if (row != job) CHECK(a.rule_of(row) == check_rule::passed);
    return a.rule_of(job);
}

}  // namespace

TEST_CASE("check: every rule of one grant holds among others of the same place too", "[check]") {
    host h(4);
    h.set_bounds(1, resource_id::cpu, 12, 20);
    h.set_state(2, job_state::done);
    auto const rule_in_run = [&h](std::uint16_t resource, std::uint32_t job, std::int64_t amount) {
        return rule_among_others(h, resource, job, amount);
    };
    for (std::uint32_t const job : {0U, 3U}) {
        CHECK(rule_in_run(cpu, job, -1) == check_rule::negative_amount);
        CHECK(rule_in_run(cpu, job, max_amount + 1) == check_rule::amount_too_large);
        CHECK(rule_in_run(cpu, job, unlimited - 1) == check_rule::amount_too_large);
        CHECK(rule_in_run(gpu, job, unlimited) == check_rule::unlimited_atomic);
        CHECK(rule_in_run(cpu, job, unlimited) == check_rule::passed);
        CHECK(rule_in_run(cpu, job, 0) == check_rule::passed);
    }
    CHECK(rule_in_run(cpu, 0, ration::least_cpu.count - 1) == check_rule::amount_too_small);
    CHECK(rule_in_run(cpu, 0, ration::least_cpu.count) == check_rule::passed);
    CHECK(rule_in_run(memory, 0, 1) == check_rule::passed);
    CHECK(rule_in_run(cpu, 1, 11) == check_rule::below_minimum);
    CHECK(rule_in_run(cpu, 1, 21) == check_rule::above_maximum);
    CHECK(rule_in_run(cpu, 1, unlimited) == check_rule::passed);
    CHECK(rule_in_run(cpu, 1, 0) == check_rule::passed);
    CHECK(rule_in_run(cpu, 2, 20) == check_rule::job_not_active);
    CHECK(rule_in_run(cpu, 2, unlimited) == check_rule::job_not_active);
    h.hold(3, resource_id::cpu, unlimited);
    CHECK(rule_in_run(cpu, 3, 965) == check_rule::passed);  // no limit promises nothing
    CHECK(rule_in_run(cpu, 3, 966) == check_rule::over_capacity);
}

TEST_CASE("check: a run of rows of one place ends where another place, a group or an unknown job begins", "[check]") {
    host h(4, 2);
    answer a(h);
    auto const run_with = [&a](grant third) {
        a.check({{.job = 0, .amount = 20}, {.job = 1, .amount = 20}, third, {.job = 3, .amount = 20}});
        return a.rule_of(2);
    };
    h.set_capacity(resource_id::memory, 0, 0);
    h.set_capacity(resource_id::cpu, 40, 1);
    CHECK(run_with({.job = 2, .resource = 1, .amount = 1}) == check_rule::over_capacity);
    CHECK(run_with({.job = 2, .node = 1, .amount = 50}) == check_rule::over_capacity);
    CHECK(run_with({.job = 2, .node = 1, .amount = 40}) == check_rule::passed);
    for (std::uint32_t const job : {4U, 5U, ~0U}) {
        a.check({{.job = 0, .amount = 20}, {.job = 1, .amount = 20}, {.job = job}});
        CHECK(a.rule_of(2) == check_rule::unknown_job);
    }
    REQUIRE(run_with({.job = 2, .group = 9, .amount = 20}) == check_rule::passed);
    CHECK((a.accepted[2].job_row() == 3 && a.accepted[3].job_row() == 2));  // by group
    CHECK(run_with({.job = 2, .reason = 9, .amount = 20}) == check_rule::passed);
    CHECK((a.accepted[2].job_row() == 2 && a.accepted[2].reason() == 9));
}

TEST_CASE("check: a store that has grown is read where it is now", "[check]") {
    host h(20);
    answer a(h);
    a.check({{.job = 15, .amount = 11}});
    CHECK(a.rule_of(0) == check_rule::passed);
    must(h.store.resize(table_id::jobs, 5000));
    for (std::size_t row = 20; row < 5000; ++row) h.store[h.columns.id][row] = row + 1;
    h.set_bounds(15, resource_id::cpu, 0, 10);
    a.check({{.job = 15, .amount = 11}});
    CHECK(a.rule_of(0) == check_rule::above_maximum);
}

TEST_CASE("check: accepted grants come by group, whatever the order of the answer", "[check]") {
    host h(3);
    answer a(h);
    a.check({{.job = 2, .amount = 20},
             {.job = 0, .resource = memory, .amount = 2},
             {.job = 1, .amount = 40},
             {.job = 0, .amount = 50}});
    REQUIRE(a.accepted.size() == 4);
    CHECK(a.row_of(a.accepted[0]) == 1);
    CHECK(a.row_of(a.accepted[1]) == 3);
    CHECK(a.row_of(a.accepted[2]) == 2);
    CHECK(a.row_of(a.accepted[3]) == 0);
}

TEST_CASE("check: every rule has words of its own", "[check]") {
    std::set<std::string_view> words;
    for (int rule = 0; rule <= static_cast<int>(check_rule::over_tenant_limit); ++rule) {
        CHECK(name_of(static_cast<check_rule>(rule)) != "unknown rule");
        words.insert(name_of(static_cast<check_rule>(rule)));
    }
    CHECK(words.size() == 16);
    CHECK(name_of(static_cast<check_rule>(16)) == "unknown rule");
}

TEST_CASE("check: bounds that all jobs share apply to every row", "[check]") {
    ration::snapshot_store store;
    must(store.omit("jobs/min.memory", ration::column_type::i64));
    must(store.omit("jobs/max.memory", ration::column_type::i64));
    host h(500);
    h.columns = must(ration::standard_columns::declare(store, ration::standard_resources));
    must(store.resize(table_id::nodes, 1));
    must(store.resize(table_id::jobs, 500));
    for (auto const& r : h.columns.resources) store.at(r.capacity, 0) = 100'000;
    for (std::size_t row = 0; row < 500; ++row) {
        store.at(h.columns.id, row) = row + 1;
        store.at(h.columns.state, row) = static_cast<std::uint32_t>(job_state::running);
        for (auto const& r : h.columns.resources) store.at(r.maximum, row) = row == 0 ? 5 : 60;
    }
    h.store = std::move(store);
    answer a(h, 500);
    std::vector<grant> good;
    for (std::uint32_t row = 0; row < 500; ++row) good.push_back({.job = row, .resource = memory, .amount = 50});
    a.check(good);
    CHECK(a.rejected.empty());
    CHECK(a.accepted.size() == 500);
    refused(h, {.job = 499, .resource = memory, .amount = 61}, check_rule::above_maximum);
    refused(h, {.job = 0, .resource = gpu, .amount = 6}, check_rule::above_maximum);
    accepted(h, {.job = 499, .resource = gpu, .amount = 60});
}
