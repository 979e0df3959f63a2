// SPDX-License-Identifier: BSL-1.0
// Who gets the last units of a node.
#include "answer.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::grant;
using ration::max_amount;
using ration::unlimited;

namespace {

constexpr auto cpu_id = static_cast<std::uint16_t>(resource_id::cpu);
constexpr auto memory_id = static_cast<std::uint16_t>(resource_id::memory);

}  // namespace

TEST_CASE("check: of groups that compete the earlier one stays", "[capacity]") {
    host h(3);
    answer a(h);
    a.check({{.job = 2, .amount = 600}, {.job = 0, .amount = 600}, {.job = 1, .amount = 400}});
    CHECK(a.rule_of(1) == check_rule::passed);  // job 0 comes first
    CHECK(a.rule_of(2) == check_rule::passed);  // and job 1 fits beside it
    CHECK(a.rule_of(0) == check_rule::over_capacity);
}

TEST_CASE("check: a group that could never fit costs the others nothing", "[capacity]") {
    host h(3);
    answer a(h);
    a.check({{.job = 0, .amount = 5000}, {.job = 1, .amount = 600}, {.job = 2, .amount = 400}});
    CHECK(a.rule_of(0) == check_rule::over_capacity);
    CHECK(a.rule_of(1) == check_rule::passed);
    CHECK(a.rule_of(2) == check_rule::passed);
}

TEST_CASE("check: the smallest CPU grant fits on a full node", "[capacity]") {
    std::int64_t const least = ration::least_cpu.count;
    host h(4);
    h.set_capacity(resource_id::cpu, 50);
    h.hold(0, resource_id::cpu, 50);
    h.hold(3, resource_id::cpu, least);
    CHECK(h.held.sum(0, resource_id::cpu) == 50);
    answer a(h);
    a.check({{.job = 1, .amount = least}, {.job = 2, .amount = least + 1}});
    CHECK(a.rule_of(0) == check_rule::passed);
    CHECK(a.rule_of(1) == check_rule::over_capacity);
    a.check({{.job = 0, .amount = least},
             {.job = 1, .amount = least},
             {.job = 2, .amount = 50},
             {.job = 3, .amount = least}});
    CHECK(a.accepted.size() == 4);
    a.check({{.job = 1, .node = 0, .resource = memory_id, .amount = 1}});
    CHECK(a.accepted.size() == 1);
}

TEST_CASE("check: thousands of groups that ask for everything there could be do not overflow the sums", "[capacity]") {
    std::size_t const many = 4096;
    host h(many);
    answer a(h, many);
    std::vector<grant> rows;
    for (std::uint32_t job = 0; job < many; ++job)
        rows.push_back({.job = job, .amount = job == many - 1 ? 20 : max_amount});
    a.check(rows);
    CHECK(a.accepted.size() == 1);
    for (auto& g : rows) g.group = 1;  // and the same as one group
    a.check(rows);
    CHECK(a.accepted.empty());
}

TEST_CASE("check: what one job gives back another may take in the same tick", "[capacity]") {
    host h(2);
    h.hold(1, resource_id::cpu, 900);
    answer a(h);
    a.check({{.job = 0, .amount = 800}, {.job = 1, .amount = 200}});
    CHECK(a.accepted.size() == 2);
    a.check({{.job = 0, .amount = 800}, {.job = 1, .amount = 201}});
    CHECK(a.rule_of(0) == check_rule::over_capacity);
    CHECK(a.rule_of(1) == check_rule::passed);
    a.check({{.job = 0, .amount = 1000}, {.job = 1, .amount = 0}});
    CHECK(a.accepted.size() == 2);
    a.check({{.job = 0, .amount = 1000}, {.job = 1, .amount = unlimited}});  // no limit promises nothing
    CHECK(a.accepted.size() == 2);
}

TEST_CASE("check: what a broken group would have given back is not there to take", "[capacity]") {
    host h(2);
    h.hold(1, resource_id::cpu, 900);
    answer a(h);
    a.check({{.job = 0, .amount = 800}, {.job = 1, .amount = 200}, {.job = 1, .resource = memory_id, .amount = -1}});
    CHECK(a.rule_of(0) == check_rule::over_capacity);
    CHECK(a.rule_of(1) == check_rule::broken_group);
}

TEST_CASE("check: a group that falls takes those with it that relied on it, and no others", "[capacity]") {
    host h(5);
    h.hold(4, resource_id::cpu, 900);
    h.set_capacity(resource_id::memory, 10);
    answer a(h);
    a.check({{.job = 0, .amount = 800},                          // relies on job 4
             {.job = 1, .amount = 90},                           // did not fit beside job 0, fits without it
             {.job = 4, .amount = 0},                            // gives back ...
             {.job = 4, .resource = memory_id, .amount = 11},    // ... but asks for memory that is not there
             {.job = 2, .resource = memory_id, .amount = 10}});  // is not in its way
    CHECK(a.rule_of(0) == check_rule::over_capacity);
    CHECK(a.rule_of(1) == check_rule::passed);
    CHECK(a.rule_of(2) == check_rule::over_capacity);
    CHECK(a.rule_of(3) == check_rule::over_capacity);
    CHECK(a.rule_of(4) == check_rule::passed);
}

TEST_CASE("check: a chain of groups that rely on each other falls as a whole", "[capacity]") {
    host h(3, 3);
    for (std::uint32_t i = 0; i < 3; ++i) h.hold(i, resource_id::cpu, 1000, i);
    answer a(h);
    std::vector<grant> moves;
    for (std::uint32_t i = 0; i < 3; ++i) {
        moves.push_back({.job = i, .node = i, .amount = 0});
        moves.push_back({.job = i, .node = (i + 1) % 3, .amount = 1000});
    }
    a.check(moves);  // each moves to where the next one was
    CHECK(a.accepted.size() == 6);
    moves[5].amount = 1001;
    a.check(moves);
    CHECK(a.accepted.empty());
    CHECK(a.rejected.size() == 6);
}

TEST_CASE("check: rows of one group count together", "[capacity]") {
    host h(2);
    answer a(h);
    a.check({{.job = 0, .group = 1, .amount = 600}, {.job = 1, .group = 1, .amount = 600}});
    CHECK(a.accepted.empty());
    a.check({{.job = 0, .group = 1, .amount = 600}, {.job = 1, .group = 1, .amount = 400}});
    CHECK(a.accepted.size() == 2);
    h.hold(0, resource_id::cpu, 1000);
    a.check({{.job = 0, .group = 1, .amount = 600}, {.job = 1, .group = 1, .amount = 400}});
    CHECK(a.accepted.size() == 2);
}

TEST_CASE("check: where a node has become smaller than what is held, jobs may shrink and not grow", "[capacity]") {
    host h(2, 2);
    h.hold(0, resource_id::cpu, 600);
    h.hold(1, resource_id::cpu, 400);
    h.set_capacity(resource_id::cpu, 500);
    answer a(h);
    a.check({{.job = 0, .amount = 550}, {.job = 1, .amount = 400}});
    CHECK(a.accepted.size() == 2);  // still too much, but less than before
    a.check({{.job = 0, .amount = 550}, {.job = 1, .amount = 401}});
    CHECK(a.rule_of(0) == check_rule::passed);
    CHECK(a.rule_of(1) == check_rule::over_capacity);
    a.check({{.job = 1, .node = 1, .amount = 1000}});
    CHECK(a.accepted.size() == 1);
}

TEST_CASE("check: each node and each resource has its own capacity", "[capacity]") {
    host h(2, 2);
    h.set_capacity(resource_id::cpu, 10, 1);
    answer a(h);
    a.check({{.job = 0, .node = 0, .amount = 1000}, {.job = 1, .node = 1, .amount = 11}});
    CHECK(a.rule_of(0) == check_rule::passed);
    CHECK(a.rule_of(1) == check_rule::over_capacity);
    a.check({{.job = 0, .amount = 1000}, {.job = 1, .resource = memory_id, .amount = 1000}});
    CHECK(a.accepted.size() == 2);
    a.check({{.job = 0, .resource = cpu_id, .amount = 1000}, {.job = 1, .resource = cpu_id, .amount = 11}});
    CHECK(a.rule_of(1) == check_rule::over_capacity);
}
