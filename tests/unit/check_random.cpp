// SPDX-License-Identifier: BSL-1.0
// Hostile answers by the hundred thousand, judged by a slow checker that shares no code with the fast one.
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "answer.hpp"
#include "random.hpp"
#include "slow_checker.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::check_rule;
using ration::grant;
using ration::unlimited;

namespace {

grant hostile_row(rng& d) {
    constexpr std::int64_t odd_amounts[] = {0,
                                            1,
                                            -1,
                                            unlimited,
                                            unlimited - 1,
                                            std::numeric_limits<std::int64_t>::min(),
                                            std::int64_t{1} << 53,
                                            (std::int64_t{1} << 53) + 1,
                                            1000,
                                            1001};
    grant g;
    g.job = static_cast<std::uint32_t>(d.one_in(40) ? d.below(std::uint64_t{1} << 32) : d.below(6));
    g.node = static_cast<std::uint32_t>(d.one_in(40) ? d.below(std::uint64_t{1} << 32) : d.below(2));
    g.resource = static_cast<std::uint16_t>(d.one_in(40) ? d.below(1 << 16) : d.below(3));
    g.group = static_cast<std::uint32_t>(d.one_in(3) ? d.below(4) : d.one_in(50) ? d.below(std::uint64_t{1} << 32) : 0);
    g.amount = d.one_in(15) ? odd_amounts[d.below(std::size(odd_amounts))] : static_cast<std::int64_t>(d.below(500));
    return g;
}

void shuffle_the_host(host& h, rng& d) {
    for (std::size_t row = 0; row < 6; ++row) {
        h.set_state(row, static_cast<job_state>(d.one_in(8) ? d.below(5) : 1));
        for (std::uint16_t r = 0; r < 3; ++r) {
            auto const least = static_cast<std::int64_t>(d.one_in(3) ? d.below(50) : 0);
            h.set_bounds(row, static_cast<resource_id>(r), least,
                         d.one_in(3) ? least + static_cast<std::int64_t>(d.below(500)) : unlimited);
        }
    }
    h.set_capacity(static_cast<resource_id>(d.below(3)), static_cast<std::int64_t>(200 + d.below(1800)), d.below(2));
}

void change_the_host(host& h, rng& d) {
    std::size_t const jobs = h.store.rows(table_id::jobs), nodes = h.store.rows(table_id::nodes);
    // Of many jobs, one would always be below a higher minimum
    std::uint64_t const highest = jobs < 10 ? 30 : jobs < 1000 ? 3 : 1;
    for (std::uint16_t r = 0; r < 2; ++r)
        for (std::size_t node = 0; node < nodes; ++node)
            h.set_capacity(static_cast<resource_id>(r), static_cast<std::int64_t>(jobs * (d.one_in(4) ? 10 : 30)),
                           node);
    for (std::size_t job = 0; job < jobs; ++job) {
        h.set_state(job, d.one_in(20) ? job_state::done : job_state::running);
        auto const minimum = static_cast<std::int64_t>(d.below(highest));
        h.set_bounds(job, static_cast<resource_id>(d.below(2)), minimum, d.one_in(2) ? unlimited : 200);
        if (d.one_in(10)) h.held.release(h.id(job));
    }
}

std::int64_t likely_amount(std::uint16_t resource, rng& d) {
    auto const amount = static_cast<std::int64_t>(d.below(40));
    return resource == 0 && amount > 0 && amount < 10 ? 10 : amount;
}

/// What a policy of clusters answers: a job's grants within its bounds, some of them on several nodes; now and then a
/// job too much, or one row that is wrong.
std::vector<grant> likely_answer(host const& h, rng& d) {
    std::size_t const jobs = h.store.rows(table_id::jobs), nodes = h.store.rows(table_id::nodes);
    std::uint32_t const with_two = d.one_in(2) ? 5 : 700;  // short runs of one resource, and long ones
    std::vector<grant> rows;
    for (std::uint32_t job = 0; job < jobs; ++job) {
        if (d.one_in(3)) continue;
        std::uint16_t const one = d.one_in(50);
        bool const is_done = h.store[h.columns.state][job] == static_cast<std::uint32_t>(job_state::done);
        for (std::uint16_t r = 0; r < 2; ++r)
            for (std::uint32_t node = 0; node < nodes; ++node)
                if (nodes == 1 ? r == one || job % with_two == 0 : !d.one_in(3))
                    rows.push_back(
                        {.job = job, .node = node, .resource = r, .amount = is_done ? 0 : likely_amount(r, d)});
    }
    if (d.one_in(3))
        for (std::size_t left = rows.size(); left > 1; --left) std::swap(rows[left - 1], rows[d.below(left)]);
    if (d.one_in(3) && rows.size() > 1) {
        grant& wrong = rows[d.below(rows.size())];
        if (d.one_in(3))
            wrong = hostile_row(d);
        else if (d.one_in(2))
            wrong = rows[d.below(rows.size())];
        else
            wrong.amount += 1000;
    }
    return rows;
}

/// What passed the check fits: settle need not fit it again as long as it defers nothing.
[[nodiscard]] bool fits(host const& h, answer const& a) {
    ration::buffer<ration::checked_grant> rows = a.accepted;
    ration::capacity_fit fit;
    fit.prepare(h.store.rows(table_id::nodes), 6, rows.size());
    std::size_t dropped = 0;
    fit.fit(
        h.held, nullptr, rows, [&](std::uint32_t node, resource_id r) { return h.store[h.of(r).capacity][node]; },
        [&](ration::checked_grant const&, ration::check_rule) { ++dropped; });
    return dropped == 0;
}

/// Accepted grants name what is held there now, and come by group, within one as they were asked.
[[nodiscard]] bool are_in_order(host const& h, answer const& a) {
    for (std::size_t i = 0; i < a.accepted.size(); ++i) {
        auto const& g = a.accepted[i];
        grant const& asked = a.asked[a.row_of(g)];
        if (g.job != h.id(asked.job)) return false;
        if (g.held != h.held.amount(g.job, g.node(), g.resource())) return false;
        if (i == 0) continue;
        auto const& before = a.accepted[i - 1];
        if (before.group() > g.group() || (before.group() == g.group() && before.asked >= g.asked)) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("check: no answer, however hostile, gets more than there is or breaks a group", "[check][random]") {
    rng d(2024);
    host h(6, 2);
    answer a(h);
    std::size_t rows_tried = 0, rows_accepted = 0;
    for (int round = 0; rows_tried < 100'000; ++round) {
        if (round % 10 == 0) shuffle_the_host(h, d);
        std::vector<grant> rows(1 + d.below(20));
        for (auto& g : rows) g = hostile_row(d);
        a.check(rows);
        auto const fault = slow_checker(h, rows).fault(a);
        if (!fault.empty()) FAIL("round " << round << ": " << fault);
        if (!fits(h, a)) FAIL("round " << round << ": more than the capacity");
        rows_tried += rows.size();
        rows_accepted += a.accepted.size();
        if (d.one_in(2))
            for (auto const& g : a.accepted) h.held.set(g.what(), {});
        if (d.one_in(20)) h.held.release(h.id(d.below(6)));
    }
    CHECK(rows_accepted > rows_tried / 10);  // the test has seen both sides
    CHECK(rows_accepted < rows_tried * 9 / 10);
}

TEST_CASE("check: likely answers, in any order and on any number of nodes, are proved as one by one",
          "[check][random]") {
    rng d(7);
    std::size_t whole = 0, broken = 0;
    for (std::size_t const nodes : {1, 2, 3})
        for (std::size_t const jobs : {3, 40, 3000}) {
            host h(jobs, nodes);
            answer a(h, jobs * nodes * 2);
            for (int round = 0; round < (jobs < 10 ? 600 : jobs < 1000 ? 150 : 12); ++round) {
                change_the_host(h, d);
                a.check(likely_answer(h, d));
                auto const fault = slow_checker(h, a.asked).fault(a);
                if (!fault.empty()) FAIL(nodes << " nodes, " << jobs << " jobs, round " << round << ": " << fault);
                if (!fits(h, a)) FAIL(nodes << " nodes, " << jobs << " jobs, round " << round << ": over capacity");
                if (!are_in_order(h, a))
                    FAIL(nodes << " nodes, " << jobs << " jobs, round " << round << ": not in order");
                (a.rejected.empty() ? whole : broken) += 1;
                for (auto const& g : a.accepted) h.held.set(g.what(), {});
            }
        }
    CHECK(whole > 200);
    CHECK(broken > 200);
}

TEST_CASE("check: rows are put into the order of their jobs, nodes and resources", "[check][random]") {
    rng d(11);
    ration::detail::job_order order;
    order.reserve(4000);
    for (std::size_t const jobs : {1, 50, 3000, 2'000'000})
        for (std::size_t const size : {1, 40, 4000}) {
            std::vector<grant> rows(size);
            for (auto& g : rows)
                g = {.job = static_cast<std::uint32_t>(d.below(jobs)),
                     .node = static_cast<std::uint32_t>(d.below(3)),
                     .resource = static_cast<std::uint16_t>(d.below(3))};
            REQUIRE(order.sort(rows, jobs));
            std::set<std::uint32_t> seen;
            for (std::size_t i = 0; i < size; ++i) {
                auto const& g = rows[order.row(i)];
                seen.insert(order.row(i));
                auto const& before = rows[order.row(i > 0 ? i - 1 : 0)];
                bool const ascends =
                    place{before.job, before.node, before.resource} <= place{g.job, g.node, g.resource};
                if (order.job(i) != g.job || !ascends) FAIL(jobs << " jobs, " << size << " rows: place " << i);
            }
            CHECK(seen.size() == size);
            rows.back().job = static_cast<std::uint32_t>(jobs);
            CHECK_FALSE(order.sort(rows, jobs));
        }
}
