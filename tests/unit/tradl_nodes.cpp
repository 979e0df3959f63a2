// SPDX-License-Identifier: BSL-1.0
// TRADL on several nodes: where a job is placed, and that each node follows the rule by itself.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include <ration/policies/tradl.hpp>
#include <ration/testing/policy_laws.hpp>

#include "answer.hpp"
#include "asked.hpp"
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

/// Small numbers that differ from call to call.
struct sequence {
    std::uint64_t state;
    std::uint64_t below(std::uint64_t bound) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % bound;
    }
};

}  // namespace

TEST_CASE("TRADL on nodes: jobs that come at once are spread", "[tradl][nodes]") {
    several s({1000, 1000, 1000});
    for (std::uint64_t id = 1; id <= 7; ++id) s.a.add_job(id);
    s.tick();
    for (std::size_t row = 0; row < 7; ++row)
        CHECK((s.node_of(row) == static_cast<int>(row % 3) && s.held(row) == unlimited));
}

TEST_CASE("TRADL on nodes: a job is placed where the least is used for the capacity", "[tradl][nodes]") {
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

TEST_CASE("TRADL on nodes: full nodes count alike, and the one with the fewest jobs for its capacity comes first",
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

TEST_CASE("TRADL on nodes: a job whose node has lost its CPU is placed again, and no other moves", "[tradl][nodes]") {
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

// The oracle: one TRADL for each node, which is shown that node's jobs alone.
TEST_CASE("TRADL on nodes: each node is limited as a machine of its own", "[tradl][nodes]") {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        sequence random{seed};
        std::size_t const nodes = 2 + random.below(2);
        std::vector<std::int64_t> capacities;
        for (std::size_t node = 0; node < nodes; ++node)
            capacities.push_back(static_cast<std::int64_t>(1000 * (1 + random.below(3))));
        several s(capacities);
        std::deque<several> alone;  // they do not move: each refers to its own host
        for (auto const capacity : capacities) alone.emplace_back(std::vector{capacity});
        std::vector<std::pair<std::size_t, std::size_t>> where;  // of each job: its node, and its row there
        for (int second = 0; second < 40; ++second) {
            if (where.size() < 8 && random.below(3) == 0) s.a.add_job(where.size() + 1);
            for (std::size_t row = 0; row < where.size(); ++row) {
                auto const tier =
                    std::min<std::uint32_t>(s.a.on.store[s.a.on.columns.tier][row] + (random.below(20) == 0), 2);
                // Released at 2
                double const used =
                    tier < 2
                        ? static_cast<double>(random.below(static_cast<std::uint64_t>(capacities[where[row].first])))
                        : 0;
                s.a.tier(row, tier);
                s.a.use(row, used);
                several& its = alone[where[row].first];
                its.a.tier(where[row].second, tier);
                its.a.use(where[row].second, used);
            }
            s.tick();
            if (where.size() < s.a.on.store.rows(table_id::jobs)) {
                std::size_t const row = where.size();
                REQUIRE(s.node_of(row) >= 0);
                several& its = alone[static_cast<std::size_t>(s.node_of(row))];
                where.emplace_back(s.node_of(row), its.a.on.store.rows(table_id::jobs));
                its.a.add_job(row + 1);
            }
            for (auto& its : alone) its.tick();
            for (std::size_t row = 0; row < where.size(); ++row)
                REQUIRE(s.held(row) == alone[where[row].first].held(where[row].second));
        }
    }
}

TEST_CASE("TRADL on nodes keeps the laws", "[tradl][nodes][laws]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (bool const strict : {false, true}) {
            auto const kept =
                ration::testing::policy_laws([&] { return tradl({.alpha = 0.5, .strict = strict}); },
                                             {.seed = seed, .ticks = 300, .most = {.jobs = 8, .nodes = 3}});
            if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
        }
}
