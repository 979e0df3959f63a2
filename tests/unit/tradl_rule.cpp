// SPDX-License-Identifier: BSL-1.0
// TRADL's rule, tick by tick: which branch, how much, and why.
#include <limits>

#include <ration/policies/tradl.hpp>

#include "asked.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::tradl;
using ration::policies::tradl_parameters;
using ration::policies::tradl_scenario;

namespace {

constexpr std::int64_t capacity = 1000;

/// n running jobs; each holds something that TRADL never gives, so that all are in the answer.
[[nodiscard]] asked<tradl> machine(std::size_t n, tradl_parameters const& p = {}) {
    asked<tradl> a(n, tradl(p));
    for (std::size_t row = 0; row < n; ++row) a.on.store[a.on.of(resource_id::cpu).held][row] = 1;
    return a;
}

/// They fill the machine; job 0 uses `first` of it and the others share the rest.
[[nodiscard]] asked<tradl> full_machine(std::size_t n, double first, tradl_parameters const& p = {}) {
    auto a = machine(n, p);
    a.use(0, first * capacity);
    for (std::size_t row = 1; row < n; ++row) a.use(row, (1 - first) * capacity / static_cast<double>(n - 1));
    return a;
}

/// Each job but job 0 has no limit, for this reason.
void others_are_free(std::vector<ration::grant> const& rows, tradl::reason why) {
    for (std::size_t row = 1; row < rows.size(); ++row) {
        CHECK(rows[row].amount == unlimited);
        CHECK(rows[row].reason == why);
    }
}

}  // namespace

TEST_CASE("tradl: at its fair share a job is limited to 1/(n+1)", "[tradl]") {
    constexpr std::int64_t expected[] = {0, 0, 333, 250, 200, 166, 142};
    for (std::size_t n = 2; n <= 6; ++n) {
        auto a = full_machine(n, 1.0 / static_cast<double>(n));
        others_are_free(a.decide(), tradl::machine_not_full);
        a.tier(0, 1);
        auto const rows = a.decide(1);
        REQUIRE(rows.size() == n);
        CHECK(rows[0].amount == expected[n]);
        CHECK(rows[0].reason == tradl::at_fair_share);
        CHECK(rows[0].group == 0);
        others_are_free(rows, tradl::below_acceptable);
    }
}

TEST_CASE("tradl: above its fair share a job is limited to 1/(2n)", "[tradl]") {
    constexpr std::int64_t expected[] = {0, 0, 250, 166, 125, 100, 83};
    for (std::size_t n = 2; n <= 6; ++n) {
        auto a = full_machine(n, 1.0 / static_cast<double>(n) + 0.05);
        a.tier(0, 1);
        auto const rows = a.decide(1);
        CHECK(rows[0].amount == expected[n]);
        CHECK(rows[0].reason == tradl::above_fair_share);
        others_are_free(rows, tradl::below_acceptable);
    }
}

TEST_CASE("tradl: a service is limited only while it holds its level", "[tradl][levels]") {
    auto a = full_machine(3, 1.0 / 3);
    a.decide();
    for (int cycle = 0; cycle < 2; ++cycle) {
        a.tier(0, 1);
        CHECK(a.decide(2 * cycle + 1)[0].amount == 250);
        a.tier(0, 0);  // the level is lost
        auto const rows = a.decide(2 * cycle + 2);
        CHECK(rows[0].amount == unlimited);
        CHECK(rows[0].reason == tradl::machine_not_full);
    }
}

TEST_CASE("tradl: a job alone on the machine is never limited", "[tradl]") {
    asked<tradl> a(1);
    a.use(0, capacity);
    a.tier(0, 1);
    for (int second = 0; second < 30; ++second) {
        auto const rows = a.decide(second);
        REQUIRE(rows.size() == 1);
        CHECK(rows[0].amount == unlimited);
        CHECK(rows[0].reason == tradl::machine_not_full);
    }
}

TEST_CASE("tradl: where every job is at Acceptable nobody is limited, until one comes that is not", "[tradl]") {
    auto a = full_machine(3, 1.0 / 3);
    for (std::size_t row = 0; row < 2; ++row) a.tier(row, 1);
    CHECK(a.decide(1)[0].amount == 250);
    a.tier(2, 1);
    for (auto const& g : a.decide(2)) CHECK(g.amount == unlimited);
    a.add_job(9);
    auto const rows = a.decide(3);
    for (std::size_t row = 0; row < 3; ++row) CHECK(rows[row].amount == 125);  // a third was more than a quarter
    CHECK(rows[3].amount == unlimited);
}

TEST_CASE("tradl: below alpha there is free competition", "[tradl]") {
    auto a = full_machine(2, 0.45);
    a.tier(0, 1);
    a.use(1, 449);  // in all 0.899
    auto const rows = a.decide();
    CHECK(rows[0].amount == unlimited);
    CHECK(rows[0].reason == tradl::machine_not_full);
    a.use(1, 450);  // exactly alpha: the machine is full
    CHECK(a.decide(1)[0].amount == 333);
}

TEST_CASE("tradl: alpha is what it was told", "[tradl]") {
    auto a = full_machine(2, 0.25, {.alpha = 0.5});
    a.tier(0, 1);
    a.use(1, 249);
    CHECK(a.decide()[0].amount == unlimited);
    a.use(1, 250);
    CHECK(a.decide(1)[0].amount == 333);
}

TEST_CASE("tradl: the dead band belongs to the weak branch", "[tradl]") {
    auto at_the_edge = full_machine(2, 0.75, {.dead_band = 0.25});
    at_the_edge.tier(0, 1);
    CHECK(at_the_edge.decide()[0].reason == tradl::at_fair_share);
    auto beyond = full_machine(2, 0.751, {.dead_band = 0.25});
    beyond.tier(0, 1);
    CHECK(beyond.decide()[0].reason == tradl::above_fair_share);
    auto usual = full_machine(2, 0.519);
    usual.tier(0, 1);
    CHECK(usual.decide()[0].reason == tradl::at_fair_share);
    auto noticeable = full_machine(2, 0.521);
    noticeable.tier(0, 1);
    CHECK(noticeable.decide()[0].reason == tradl::above_fair_share);
}

TEST_CASE("tradl strict: the branch is that of the present use, so 1/(2n) lasts one tick", "[tradl][strict]") {
    auto a = full_machine(2, 0.7, {.strict = true});
    a.tier(0, 1);
    CHECK(a.decide(0)[0].amount == 250);
    a.use(0, 250);
    a.use(1, 750);
    CHECK(a.decide(1)[0].amount == 333);
    a.use(0, 333);
    a.use(1, 667);
    CHECK(a.decide(2)[0].amount == 333);
}

TEST_CASE("tradl strict: a job alone is limited, and a limit is lifted as soon as the machine is not full",
          "[tradl][strict]") {
    auto a = full_machine(1, 1, {.strict = true});
    a.tier(0, 1);
    CHECK(a.decide(0)[0].amount == 500);
    a.use(0, 500);
    CHECK(a.decide(1)[0].amount == unlimited);
    a.use(0, 1000);
    CHECK(a.decide(2)[0].amount == 500);
    auto usual = full_machine(1, 1);
    usual.tier(0, 1);
    CHECK(usual.decide(0)[0].amount == unlimited);
}

TEST_CASE("tradl: the branch is that of the use on entering Acceptable", "[tradl]") {
    auto a = full_machine(2, 0.7);
    a.tier(0, 1);
    CHECK(a.decide(0)[0].amount == 250);
    a.use(0, 250);
    a.use(1, 750);  // the limit has done its work
    CHECK(a.decide(1)[0].amount == 250);
    auto weak = full_machine(2, 0.5);
    weak.tier(0, 1);
    CHECK(weak.decide(0)[0].amount == 333);
    weak.use(0, 900);
    weak.use(1, 100);
    CHECK(weak.decide(1)[0].amount == 333);
}

TEST_CASE("tradl: when n changes, amount and branch are chosen again from that same use", "[tradl]") {
    auto a = full_machine(2, 0.45);
    a.tier(0, 1);
    CHECK(a.decide(0)[0].amount == 333);  // 0.45 < 1/2: weak
    a.use(0, 333);
    a.use(1, 667);
    a.add_job(7);
    CHECK(a.decide(1)[0].amount == 166);  // 0.45 > 1/3: strong
    a.on.set_state(2, job_state::failed);
    CHECK(a.decide(2)[0].amount == 333);
    CHECK(a.decide(2).size() == 2);
}

TEST_CASE("tradl: the memory of a job moves with its row and dies with it", "[tradl]") {
    auto a = full_machine(3, 0.2);
    a.use(2, 600);
    a.tier(2, 1);
    CHECK(a.decide(0)[2].reason == tradl::above_fair_share);
    a.use(2, 166);
    a.use(1, 834);
    a.on.store.erase_row(table_id::jobs, 0);
    CHECK(a.decide(1)[1].reason == tradl::above_fair_share);  // job 3, now in row 1, with the 0.6 from before
    a.on.store.erase_row(table_id::jobs, 1);
    a.add_job(4);
    a.tier(1, 1);
    a.use(1, 100);
    CHECK(a.decide(2)[1].reason == tradl::at_fair_share);  // job 4 is another one
}

TEST_CASE("tradl: only what differs from what is held is said", "[tradl]") {
    auto a = full_machine(3, 1.0 / 3);
    a.tier(0, 1);
    auto const held = a.on.store[a.on.of(resource_id::cpu).held];
    held[0] = 250;
    held[1] = unlimited;
    auto const rows = a.decide();
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].job == 2);
    held[2] = unlimited;
    CHECK(a.decide(1).empty());
    held[0] = 251;
    CHECK(a.decide(2)[0].amount == 250);
}

TEST_CASE("tradl scenario FT: at Objective a job is released and counts no more", "[tradl]") {
    auto a = full_machine(3, 1.0 / 3, {.scenario = tradl_scenario::FT});
    a.tier(0, 2);
    a.tier(1, 1);
    auto const rows = a.decide();
    CHECK(rows[0].amount == 0);
    CHECK(rows[0].reason == tradl::objective);
    CHECK(rows[1].amount == 333);  // n = 2
    CHECK(rows[2].amount == unlimited);
}

TEST_CASE("tradl scenario FT: a job is released though the machine is not full", "[tradl]") {
    auto a = machine(2);
    a.tier(0, 2);
    auto const rows = a.decide();
    CHECK(rows[0].amount == 0);
    CHECK(rows[1].amount == unlimited);
}

TEST_CASE("tradl scenario FT: a job that has held nothing yet is released all the same", "[tradl]") {
    auto a = machine(2);
    a.tier(0, 2);
    a.on.store[a.on.of(resource_id::cpu).held][0] = 0;
    auto const rows = a.decide();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].amount == 0);
    CHECK(rows[0].reason == tradl::objective);
}

TEST_CASE("tradl scenario AO: at Objective a job goes on, limited", "[tradl]") {
    auto a = full_machine(3, 1.0 / 3, {.scenario = tradl_scenario::AO});
    a.tier(0, 2);
    auto const rows = a.decide();
    CHECK(rows[0].amount == 250);
    CHECK(rows[0].reason == tradl::at_fair_share);
}

TEST_CASE("tradl scenario NA: nobody is ever limited", "[tradl]") {
    auto a = full_machine(3, 0.8, {.scenario = tradl_scenario::NA});
    for (std::uint32_t tier = 0; tier <= 2; ++tier) {
        a.tier(0, tier);
        for (auto const& g : a.decide(tier)) CHECK(g.amount == unlimited);
    }
}

TEST_CASE("tradl: a limit stays within what the job accepts", "[tradl]") {
    auto a = full_machine(2, 0.5);
    a.tier(0, 1);
    a.on.set_bounds(0, resource_id::cpu, 400, unlimited);
    CHECK(a.decide(0)[0].amount == 400);
    a.on.set_bounds(0, resource_id::cpu, 0, 100);
    CHECK(a.decide(1)[0].amount == 100);
    a.on.set_bounds(1, resource_id::cpu, 0, 100);
    CHECK(a.decide(2)[1].amount == unlimited);  // no limit is not an amount: the engine brings it within the maximum
}

TEST_CASE("tradl: a release is below any minimum", "[tradl]") {
    auto a = full_machine(2, 0.5);
    a.on.set_bounds(0, resource_id::cpu, 400, 500);
    a.tier(0, 2);
    CHECK(a.decide()[0].amount == 0);
}

TEST_CASE("tradl: only running jobs count and only they are granted", "[tradl]") {
    auto a = full_machine(4, 0.25);
    a.tier(0, 1);
    a.on.set_state(1, job_state::queued);
    a.on.set_state(2, job_state::done);
    a.use(0, 500);
    a.use(3, 500);
    a.use(1, 9000);
    a.use(2, 9000);
    auto const rows = a.decide();
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].amount == 333);
    CHECK(rows[1].job == 3);
}

TEST_CASE("tradl: what a job used that runs no more does not fill the machine", "[tradl]") {
    auto a = full_machine(3, 0.2);
    a.tier(0, 1);
    a.on.set_state(2, job_state::failed);  // its last use, 0.4 of the machine, is still in the table
    CHECK(a.decide()[0].amount == unlimited);
}

TEST_CASE("tradl: no nodes, no jobs, no space", "[tradl]") {
    asked<tradl> no_nodes(2, tradl{}, 0);
    CHECK(no_nodes.decide().empty());
    asked<tradl> no_jobs(0);
    CHECK(no_jobs.decide().empty());
    asked<tradl> small(3);
    CHECK(small.decide(0, 2).size() == 2);
    CHECK(small.reply == ration::status::capacity);
}

TEST_CASE("tradl: a machine without cpu limits nobody", "[tradl]") {
    auto a = full_machine(2, 0.5);
    a.on.set_capacity(resource_id::cpu, 0);
    a.tier(0, 1);
    a.use(0, 0);
    a.use(1, 0);
    for (auto const& g : a.decide()) CHECK(g.amount == unlimited);
}

TEST_CASE("tradl: parameters that cannot be are named with what to write instead", "[tradl]") {
    constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
    auto const reports = [](tradl_parameters const& p, std::string_view what) { return p.problem().find(what) == 0; };
    CHECK(tradl_parameters{}.problem().empty());
    CHECK(tradl_parameters{.alpha = 1, .dead_band = 0}.problem().empty());
    for (double const alpha : {0.0, -0.1, 1.01, not_a_number}) CHECK(reports({.alpha = alpha}, "alpha"));
    for (double const band : {-0.01, 1.0, not_a_number}) CHECK(reports({.dead_band = band}, "dead_band"));
}
