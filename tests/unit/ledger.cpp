// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include <ration/host/ledger.hpp>

#include "host.hpp"
#include "random.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using ration::job_id;
using ration::ledger;
using ration::resource_id;
using ration::seconds;
using ration::unlimited;

namespace {

constexpr auto cpu = resource_id::cpu, memory = resource_id::memory;

[[nodiscard]] ledger of_two_nodes() {
    ledger l;
    l.reset(2, 2, 16);
    return l;
}

}  // namespace

TEST_CASE("ledger: knows what each job holds since when", "[ledger]") {
    auto l = of_two_nodes();
    CHECK(l.find({1}, 0, cpu) == nullptr);
    CHECK(l.amount({1}, 0, cpu) == 0);
    l.set({{1}, 0, cpu, 500}, seconds(3));
    REQUIRE(l.find({1}, 0, cpu) != nullptr);
    CHECK(l.find({1}, 0, cpu)->since == seconds(3));
    CHECK(l.amount({1}, 0, cpu) == 500);
    CHECK(l.amount({1}, 1, cpu) == 0);
    CHECK(l.amount({1}, 0, memory) == 0);
    CHECK(l.amount({2}, 0, cpu) == 0);
    l.set({{1}, 0, cpu, 300}, seconds(4));
    CHECK(l.amount({1}, 0, cpu) == 300);
    CHECK(l.find({1}, 0, cpu)->since == seconds(4));
    CHECK(l.all().size() == 1);
}

TEST_CASE("ledger: sums are per node and resource, and no limit promises nothing", "[ledger]") {
    auto l = of_two_nodes();
    l.set({{1}, 0, cpu, 500}, {});
    l.set({{2}, 0, cpu, 200}, {});
    l.set({{1}, 1, cpu, 17}, {});
    l.set({{2}, 1, cpu, ration::least_cpu.count}, {});  // always fits, so it promises nothing
    l.set({{1}, 0, memory, 9}, {});
    l.set({{3}, 0, cpu, unlimited}, {});
    CHECK(l.sum(0, cpu) == 700);
    CHECK(l.sum(1, cpu) == 17);
    CHECK(l.sum(0, memory) == 9);
    CHECK(l.amount({3}, 0, cpu) == unlimited);
    l.set({{1}, 0, cpu, unlimited}, {});
    CHECK(l.sum(0, cpu) == 200);
    l.set({{3}, 0, cpu, 100}, {});
    CHECK(l.sum(0, cpu) == 300);
}

TEST_CASE("ledger: an amount of 0 removes the holding", "[ledger]") {
    auto l = of_two_nodes();
    l.set({{1}, 0, cpu, 0}, {});
    CHECK(l.all().empty());
    l.set({{1}, 0, cpu, 5}, {});
    l.set({{1}, 0, cpu, 0}, {});
    CHECK(l.all().empty());
    CHECK(l.sum(0, cpu) == 0);
}

TEST_CASE("ledger: a release takes everything of one job and nothing of the others", "[ledger]") {
    auto l = of_two_nodes();
    for (std::uint64_t job = 1; job <= 3; ++job)
        for (std::uint32_t node = 0; node < 2; ++node) {
            l.set({{job}, node, cpu, 50}, {});
            l.set({{job}, node, memory, 20}, {});
        }
    l.release({2});
    CHECK(l.all().size() == 8);
    CHECK(l.sum(0, cpu) == 100);
    CHECK(l.sum(1, memory) == 40);
    CHECK(l.amount({2}, 1, memory) == 0);
    CHECK(l.amount({3}, 0, cpu) == 50);
    l.release({2});
    l.release({7});
    l.release({0});
    CHECK(l.all().size() == 8);
    l.release({3});
    l.release({1});
    CHECK(l.all().empty());
    CHECK(l.sum(1, memory) == 0);
}

TEST_CASE("ledger: a reset forgets everything", "[ledger]") {
    auto l = of_two_nodes();
    l.set({{1}, 1, memory, 5}, {});
    l.reset(1, 1, 4);
    CHECK(l.all().empty());
    CHECK(l.sum(0, cpu) == 0);
}

namespace {

/// A map that gets the same changes as a ledger.
class ledger_model {
    using key = std::tuple<std::uint64_t, std::uint32_t, resource_id>;
    std::map<key, std::int64_t> amounts_;

public:
    void release(job_id job) {
        std::erase_if(amounts_, [&](auto const& entry) { return std::get<0>(entry.first) == job.value; });
    }
    void set(ration::setting const& what) {
        if (what.amount == 0)
            amounts_.erase({what.job.value, what.node, what.resource});
        else
            amounts_[{what.job.value, what.node, what.resource}] = what.amount;
    }
    /// Whether the ledger has the same holdings in the order of the map.
    [[nodiscard]] bool equals(ledger const& l) const {
        return std::ranges::equal(l.all(), amounts_, [](auto const& held, auto const& entry) {
            auto const& s = held.what;
            return key{s.job.value, s.node, s.resource} == entry.first && s.amount == entry.second;
        });
    }
    /// What the node has promised.
    [[nodiscard]] std::int64_t sum(std::uint32_t node, resource_id resource) const {
        std::int64_t sum = 0;
        for (auto const& [where, amount] : amounts_)
            if (std::get<1>(where) == node && std::get<2>(where) == resource && amount != unlimited &&
                (resource != cpu || amount > ration::least_cpu.count))
                sum += amount;
        return sum;
    }
};

}  // namespace

TEST_CASE("ledger: agrees with a map through any history, in order and without allocating", "[ledger]") {
    ledger l;
    l.reset(3, 4, 10 * 3 * 4);
    ledger_model model;
    unit::rng random(99);
    for (int i = 0; i < 20000; ++i) {
        job_id const job{1 + random.below(10)};
        auto const node = static_cast<std::uint32_t>(random.below(3));
        auto const resource = static_cast<resource_id>(random.below(4));
        if (random.one_in(20)) {
            auto const before = allocations();
            l.release(job);
            REQUIRE(allocations() == before);
            model.release(job);
        } else {
            std::int64_t const amount = random.one_in(5)   ? 0
                                        : random.one_in(5) ? unlimited
                                                           : static_cast<std::int64_t>(random.below(1000));
            auto const before = allocations();
            l.set({job, node, resource, amount}, {});
            REQUIRE(allocations() == before);
            model.set({job, node, resource, amount});
        }
        REQUIRE(model.equals(l));
        REQUIRE(l.sum(node, resource) == model.sum(node, resource));
    }
}

TEST_CASE("ledger: with many jobs, a change moves few slots, and jobs stay together", "[ledger]") {
    constexpr std::size_t jobs = 3000, changes = 60'000;
    ledger l;
    l.reset(4, 4, jobs * 4);
    ledger_model model;
    unit::rng random(7);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < changes; ++i) {
        // Most changes are close to each other, which is the worst case of an array with vacant slots.
        job_id const job{1 + (random.one_in(4) ? random.below(jobs) : jobs / 2 + random.below(200))};
        l.forget_changes();
        if (random.one_in(4)) {
            l.release(job);
            model.release(job);
        } else {
            ration::setting const s{job, static_cast<std::uint32_t>(random.below(4)), resource_id::gpu,
                                    static_cast<std::int64_t>(random.below(3))};
            l.set(s, {});
            model.set(s);
        }
        for (auto const& place : l.changes().places) moved += place.slots.last - place.slots.first;
        if (i % 997 != 0) continue;
        REQUIRE(model.equals(l));
        REQUIRE(std::ranges::is_sorted(l.slots(),
                                       [](auto const& a, auto const& b) { return ledger::before(a.what, b.what); }));
        for (auto const& held : l.all()) {
            auto const its = l.of(held.what.job);
            REQUIRE(its.first <= &held);
            REQUIRE(&held < its.last);
        }
    }
    CHECK(l.slots().size() <= 4 * l.all().size() + 128);
    // A sorted array without vacant slots moves a thousand and more.
    CHECK(moved < 60 * changes);
}

TEST_CASE("show_holdings: shows holdings per job over all nodes, and free amounts per node", "[holdings]") {
    unit::host h(3, 2);
    h.hold(0, cpu, 100, 0);
    h.hold(0, cpu, 50, 1);
    h.hold(1, cpu, 30, 0);
    h.hold(1, cpu, unlimited, 1);
    h.hold(1, memory, 7, 1);
    h.held.set({{99}, 0, cpu, 500}, {});  // not in the table: it still holds
    show_holdings(h.held, h.store, h.columns);
    auto const held = h.store[h.of(cpu).held], free = h.store[h.of(cpu).free];
    CHECK(held[0] == 150);
    CHECK(held[1] == unlimited);
    CHECK(held[2] == 0);
    CHECK(free[0] == 370);
    CHECK(free[1] == 950);
    CHECK(h.store[h.of(memory).held][1] == 7);
    CHECK(h.store[h.of(memory).free][1] == 993);
    h.held.release({2});
    show_holdings(h.held, h.store, h.columns);
    CHECK(held[1] == 0);
    CHECK(h.store[h.of(memory).free][1] == 1000);
}

TEST_CASE("show_holdings: the table names job, node, resource and amount, in that order", "[holdings]") {
    unit::host h(3, 2);
    h.hold(2, cpu, 30, 0);
    h.hold(0, memory, 7, 1);
    h.hold(0, cpu, unlimited, 1);
    show_holdings(h.held, h.store, h.columns);
    auto const& c = h.columns;
    REQUIRE(h.store.rows(ration::table_id::held) == 3);
    CHECK(std::tuple{h.store.at(c.held_job, 0), h.store.at(c.held_node, 0), h.store.at(c.held_resource, 0),
                     h.store.at(c.held_amount, 0)} == std::tuple{1u, 1u, 0u, unlimited});
    CHECK(std::tuple{h.store.at(c.held_job, 1), h.store.at(c.held_resource, 1), h.store.at(c.held_amount, 1)} ==
          std::tuple{1u, 1u, 7});
    CHECK(std::tuple{h.store.at(c.held_job, 2), h.store.at(c.held_node, 2), h.store.at(c.held_amount, 2)} ==
          std::tuple{3u, 0u, 30});
}

namespace {

/// Empty when both stores show the same.
[[nodiscard]] std::string difference(unit::host const& a, unit::host const& b) {
    for (auto const& c : a.store.schema()) {
        auto const rows = a.store.rows(c.table);
        if (rows != b.store.rows(c.table)) return "rows of " + std::string(c.name.view());
        if (c.type != ration::column_type::i64) continue;
        auto const column = unit::must(a.store.find<std::int64_t>(c.name.view()));
        for (std::size_t row = 0; row < rows; ++row)
            if (a.store.at(column, row) != b.store.at(column, row))
                return std::string(c.name.view()) + " of row " + std::to_string(row);
    }
    for (std::size_t row = 0; row < a.store.rows(ration::table_id::held); ++row)
        if (a.store.at(a.columns.held_job, row) != b.store.at(b.columns.held_job, row) ||
            a.store.at(a.columns.held_node, row) != b.store.at(b.columns.held_node, row) ||
            a.store.at(a.columns.held_resource, row) != b.store.at(b.columns.held_resource, row))
            return "what is held in row " + std::to_string(row);
    return {};
}

/// Two hosts with the same history; the views of one are updated, those of the other are filled from the start.
struct two_hosts {
    unit::host updated{6, 3}, filled{6, 3};
    std::uint64_t last_id = 6;

    template <class Action>
    void both(Action const& action) {
        action(updated);
        action(filled);
    }
    /// One of the last eight jobs, an ended one, or one that is yet to come.
    void change_a_holding(unit::rng& random) {
        job_id const job{last_id < 8 ? 1 + random.below(8) : last_id - 7 + random.below(9)};
        auto const node = static_cast<std::uint32_t>(random.below(3));
        auto const r = static_cast<resource_id>(random.below(3));
        std::int64_t const amount = random.one_in(4)   ? 0
                                    : random.one_in(6) ? unlimited
                                                       : static_cast<std::int64_t>(random.below(50));
        both([&](unit::host& h) { h.held.set({job, node, r, amount}, {}); });
    }
    void replace_a_job(unit::rng& random) {
        auto const row = random.below(updated.store.rows(ration::table_id::jobs));
        ++last_id;
        both([&](unit::host& h) {
            h.held.release(h.id(row));
            h.store.erase_row(ration::table_id::jobs, row);
            auto const rows = h.store.rows(ration::table_id::jobs);
            unit::must(h.store.resize(ration::table_id::jobs, rows + 1));
            h.store.at(h.columns.id, rows) = last_id;
        });
    }
};

}  // namespace

TEST_CASE("show_changes: shows the same as show_holdings, through any history", "[holdings]") {
    unit::rng random(7);
    two_hosts hosts;
    auto &updated = hosts.updated, &filled = hosts.filled;
    for (int i = 0; i < 5000; ++i) {
        std::uint64_t const many = random.one_in(20) ? 200 : random.below(4);
        for (std::uint64_t n = 0; n < many; ++n) hosts.change_a_holding(random);
        if (random.one_in(3)) hosts.replace_a_job(random);
        if (random.one_in(10)) {
            auto const capacity = static_cast<std::int64_t>(random.below(900));
            hosts.both([&](unit::host& h) { h.set_capacity(cpu, capacity, 1); });
        }
        show_changes(updated.held, updated.store, updated.columns);
        show_free(updated.held, updated.store, updated.columns);
        show_holdings(filled.held, filled.store, filled.columns);
        REQUIRE(difference(updated, filled) == "");
    }
}
