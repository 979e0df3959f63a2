// SPDX-License-Identifier: BSL-1.0
// TRADL on several nodes: where a job is placed, and that each node follows the rule by itself.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include <ration/policies/tradl.hpp>
#include <ration/testing/policy_laws.hpp>

#include "answer.hpp"
#include "asked.hpp"
#include "random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::tradl;
using ration::policies::tradl_parameters;

namespace {

/// TRADL on nodes of these millicores. Each answer is checked, and comes into force at once.
struct several {
    asked<tradl> a;
    answer checked;
    double second = 0;

    explicit several(std::vector<std::int64_t> const& capacities, tradl_parameters const& p = {})
        : a(0, tradl(p), capacities.size()), checked(a.on, 64) {
        for (std::size_t node = 0; node < capacities.size(); ++node)
            a.on.set_capacity(resource_id::cpu, capacities[node], node);
    }

    std::vector<ration::grant> tick() {
        checked.check(a.decide(second++, 64));
        CHECK(checked.rejected.empty());
        for (auto const& g : checked.accepted) a.on.held.set(g.what(), {});
        ration::show_holdings(a.on.held, a.on.store, a.on.columns);
        return checked.asked;
    }
    /// The only node where the job holds CPU; -1: none, -2: several.
    [[nodiscard]] int node_of(std::size_t row) const {
        int found = -1;
        for (auto const& h : a.on.held.of(a.on.id(row))) found = found == -1 ? static_cast<int>(h.what.node) : -2;
        return found;
    }
    [[nodiscard]] std::int64_t held(std::size_t row) const {
        return a.on.store.at(a.on.of(resource_id::cpu).held, row);
    }
};

}  // namespace

TEST_CASE("tradl on nodes: jobs that come at once are spread", "[tradl][nodes]") {
    several s({1000, 1000, 1000});
    for (std::uint64_t id = 1; id <= 7; ++id) s.a.add_job(id);
    s.tick();
    for (std::size_t row = 0; row < 7; ++row)
        CHECK((s.node_of(row) == static_cast<int>(row % 3) && s.held(row) == unlimited));
}

TEST_CASE("tradl on nodes: a job is placed where the least is used for the capacity", "[tradl][nodes]") {
    several s({1000, 2000});
    s.a.add_job(1);
    s.a.add_job(2);
    s.tick();
    s.a.use(0, 300);
    s.a.use(1, 800);  // 0.3 and 0.4
    s.a.add_job(3);
    s.tick();
    CHECK(s.node_of(2) == 0);
    s.a.use(2, 300);  // 0.6 and 0.4
    s.a.add_job(4);
    s.tick();
    CHECK(s.node_of(3) == 1);
}

TEST_CASE("tradl on nodes: full nodes count alike, and the one with the fewest jobs for its capacity comes first",
          "[tradl][nodes]") {
    several s({1000, 1000});
    for (std::uint64_t id = 1; id <= 3; ++id) s.a.add_job(id);
    s.tick();
    s.a.use(0, 500);
    s.a.use(2, 420);
    s.a.use(1, 1000);  // the first node has two jobs and a little less use
    s.a.add_job(4);
    s.tick();
    CHECK(s.node_of(3) == 1);
}

TEST_CASE("tradl on nodes: a job whose node has lost its CPU is placed again, and no other moves", "[tradl][nodes]") {
    several s({1000, 1000});
    s.a.add_job(1);
    s.a.add_job(2);
    s.tick();
    s.a.on.set_capacity(resource_id::cpu, 0, 1);
    s.tick();
    CHECK((s.node_of(0) == 0 && s.node_of(1) == 0));
    s.a.on.set_capacity(resource_id::cpu, 1000, 1);
    CHECK(s.tick().empty());
}

namespace {

/// The oracle: one TRADL for each node, which is shown that node's jobs alone.
struct one_for_each_node {
    struct location {
        std::size_t node, row;
    };
    std::deque<several> alone;     // they do not move: each refers to its own host
    std::vector<location> of_job;  // by its row in the whole

    explicit one_for_each_node(std::vector<std::int64_t> const& capacities) {
        for (auto const capacity : capacities) alone.emplace_back(std::vector{capacity});
    }
    void add_job(std::size_t node) {
        of_job.push_back({node, alone[node].a.on.store.rows(table_id::jobs)});
        alone[node].a.add_job(of_job.size());
    }
    void tick() {
        for (auto& one : alone) one.tick();
    }
    [[nodiscard]] several& around(std::size_t row) { return alone[of_job[row].node]; }
    [[nodiscard]] std::int64_t held(std::size_t row) { return around(row).held(of_job[row].row); }
};

/// The job comes to another tier now and then, and uses a part of its node below the last tier.
void let_work(several& whole, one_for_each_node& oracle, std::size_t row, std::int64_t capacity, rng& random) {
    auto const tier =
        std::min<std::uint32_t>(whole.a.on.store[whole.a.on.columns.tier][row] + (random.one_in(20) ? 1 : 0), 2);
    double const used = tier < 2 ? static_cast<double>(random.below(static_cast<std::uint64_t>(capacity))) : 0;
    whole.a.tier(row, tier);
    whole.a.use(row, used);
    oracle.around(row).a.tier(oracle.of_job[row].row, tier);
    oracle.around(row).a.use(oracle.of_job[row].row, used);
}

}  // namespace

TEST_CASE("tradl on nodes: each node is limited as a machine of its own", "[tradl][nodes]") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        rng random(seed);
        std::vector<std::int64_t> capacities(2 + random.below(2));
        for (auto& capacity : capacities) capacity = static_cast<std::int64_t>(1000 * (1 + random.below(3)));
        several s(capacities);
        one_for_each_node oracle(capacities);
        for (int second = 0; second < 40; ++second) {
            std::size_t const jobs = oracle.of_job.size();
            bool const arrives = jobs < 8 && random.one_in(3);
            if (arrives) s.a.add_job(jobs + 1);
            for (std::size_t row = 0; row < jobs; ++row)
                let_work(s, oracle, row, capacities[oracle.of_job[row].node], random);
            s.tick();
            if (arrives) {
                REQUIRE(s.node_of(jobs) >= 0);
                oracle.add_job(static_cast<std::size_t>(s.node_of(jobs)));
            }
            oracle.tick();
            for (std::size_t row = 0; row < oracle.of_job.size(); ++row) REQUIRE(s.held(row) == oracle.held(row));
        }
    }
}

TEST_CASE("tradl on nodes: keeps the laws", "[tradl][nodes][laws]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (bool const strict : {false, true}) {
            auto const kept =
                ration::testing::policy_laws([&] { return tradl({.alpha = 0.5, .strict = strict}); },
                                             {.seed = seed, .ticks = 300, .most = {.jobs = 8, .nodes = 3}});
            if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
        }
}
