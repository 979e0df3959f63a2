// SPDX-License-Identifier: BSL-1.0
// pack, spread and gang: learners on nodes.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include <ration/policies/gang.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::gang;
using ration::policies::learner_placement;
using ration::policies::pack;
using ration::policies::spread;

TEST_CASE("pack: fills nodes, spread fragments them", "[pack][spread]") {
    cluster<pack> p({4, 4, 4});
    cluster<spread> s({4, 4, 4});
    for (int i = 0; i < 3; ++i) {
        p.submit({.request = 1});
        s.submit({.request = 1});
        p.decide();
        s.decide();
    }
    CHECK(p.of(1) == places{{0, 1}});
    CHECK(p.of(3) == places{{0, 1}});
    CHECK(s.of(1) == places{{0, 1}});
    CHECK(s.of(2) == places{{1, 1}});
    CHECK(s.of(3) == places{{2, 1}});
    p.submit({.request = 4});
    s.submit({.request = 4});
    CHECK(p.decide() == counts{1, 1, 1, 4});
    CHECK(s.decide() == counts{1, 1, 1, 0});  // nine are free, nowhere four
    CHECK(p.fault.empty());
    CHECK(s.fault.empty());
}

TEST_CASE("pack, spread, gang: a learner is whole on one node", "[gang]") {
    cluster<gang> c({4, 4, 4});
    c.submit({.request = 3});
    c.submit({.request = 3});
    c.submit({.request = 2});
    CHECK(c.decide() == counts{3, 3, 2});
    c.submit({.request = 3});
    CHECK(c.decide() == counts{3, 3, 2, 0});  // four are free, nowhere three
    cluster<gang> pieces({4, 4, 4}, gang({.learner = 1}));
    for (std::int64_t const request : {3, 3, 2, 3}) pieces.submit({.request = request});
    CHECK(pieces.decide() == counts{3, 3, 2, 3});
}

TEST_CASE("pack, spread, gang: a job with more than one learner gets all or none from gang", "[gang]") {
    cluster<gang> c({4, 4}, gang({.learner = 4}));
    c.submit({.request = 1});
    c.decide();
    c.submit({.request = 8, .least = 1});
    CHECK(c.decide() == counts{1, 0});
    CHECK(c.answer.empty());
    c.end(1);
    CHECK(c.decide() == counts{8});
    CHECK(c.of(2) == places{{0, 4}, {1, 4}});
    cluster<gang> odd({4, 4}, gang({.learner = 4}));
    odd.submit({.request = 6});
    odd.decide();
    CHECK(odd.of(1) == places{{0, 4}, {1, 2}});
}

// Jobs of four learners, on eight devices: the learners of several jobs come in turn, and none is complete.
TEST_CASE("pack, spread, gang: one learner at a time, jobs wait for each other; as gangs they never do",
          "[pack][gang]") {
    int deadlocks = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        cluster<pack> one_by_one({4, 4}, pack({.learner = 1}));
        one_by_one.ticks = seed;
        cluster<gang> whole({4, 4}, gang({.learner = 1}));
        for (int i = 0; i < 4; ++i) {
            one_by_one.submit({.request = 4, .least = 1});
            whole.submit({.request = 4, .least = 1});
        }
        std::int64_t held = 0, complete = 0;
        for (std::int64_t const devices : one_by_one.decide()) {
            held += devices;
            complete += devices == 4;
        }
        CHECK(held == 8);
        deadlocks += complete == 0;
        CHECK(whole.decide() == counts{4, 4, 0, 0});
        CHECK(one_by_one.fault.empty());
    }
    // Of the 4^8 sequences of eight draws 36120 have no job four times: 55 %, so 28 of 50, give or take 3.5.
    CHECK(deadlocks > 14);
    CHECK(deadlocks < 42);
}

namespace {

/// Two jobs of two learners on two nodes. True when each got one learner, so that neither ever gets its second one.
[[nodiscard]] bool is_deadlocked(cluster<pack>& c, std::uint64_t seed) {
    c.ticks = seed;
    c.submit({.request = 8, .least = 4});
    c.submit({.request = 8, .least = 4});
    return c.decide() == counts{4, 4};
}
[[nodiscard]] std::uint64_t deadlocking_seed() {
    for (std::uint64_t seed = 1;; ++seed) {
        cluster<pack> c({4, 4}, pack({.learner = 4}));
        if (is_deadlocked(c, seed)) return seed;
    }
}

}  // namespace

TEST_CASE("pack, spread, gang: a job that lacks learners for too long frees them, the last one first", "[pack]") {
    pack const policy({.learner = 4, .give_up = 300});
    for (bool const is_restored : {false, true}) {
        cluster<pack> c({4, 4}, policy);
        REQUIRE(is_deadlocked(c, deadlocking_seed()));
        c.now = 10;
        CHECK(c.decide() == counts{4, 4});  // from now on both are incomplete
        c.now = 309;
        CHECK(c.decide() == counts{4, 4});
        if (is_restored) {
            std::array<std::byte, 1024> saved{};
            std::size_t const size = c.policy.save(saved);
            REQUIRE(size <= saved.size());
            for (pack* one : {&c.policy, &c.twin}) {
                *one = policy;
                REQUIRE(one->prepare({.jobs = cluster<pack>::most_jobs, .nodes = 2}) == ration::status::ok);
                CHECK(one->load({saved.data(), size - 1}) == ration::status::state);
                REQUIRE(one->load({saved.data(), size}) == ration::status::ok);
            }
        }
        c.now = 310;
        CHECK(c.decide() == counts{8, 0});
        CHECK(c.decide() == counts{8, 0});  // at the same time no other job gives up
        c.end(1);
        c.now = 311;
        CHECK(c.decide() == counts{8});
        CHECK(c.fault.empty());
    }
}

TEST_CASE("pack, spread, gang: without a time to give up jobs keep their learners for good", "[pack]") {
    cluster<pack> c({4, 4}, pack({.learner = 4}));
    REQUIRE(is_deadlocked(c, deadlocking_seed()));
    for (double const now : {300.0, 1e6}) {
        c.now = now;
        CHECK(c.decide() == counts{4, 4});
    }
    CHECK(c.answer.empty());
}

TEST_CASE("pack, spread, gang: learners below a job's minimum go together", "[pack]") {
    cluster<pack> c({4}, pack({.learner = 1}));
    c.submit({.request = 3});
    c.submit({.request = 3});
    auto const given = c.decide();
    CHECK(given[0] + given[1] == 3);
    CHECK(c.fault.empty());
}

TEST_CASE("pack, spread, gang: later gangs pass one that does not fit, unless told otherwise", "[gang]") {
    cluster<gang> lenient({4}), strict({4}, gang({.backfill = false}));
    lenient.submit({.request = 3});
    lenient.submit({.request = 2});
    lenient.submit({.request = 1});
    strict.submit({.request = 9});
    strict.submit({.request = 3});
    strict.submit({.request = 2});
    strict.submit({.request = 1});
    CHECK(lenient.decide() == counts{3, 0, 1});
    CHECK(strict.decide() == counts{0, 3, 0, 0});  // a job that can never run holds no other back
    // Learners of 3, 3 and 1 would fit on empty nodes of 4 and 4, those of 3, 3 and 2 never do.
    for (auto const& [request, expected] : {std::pair<std::int64_t, counts>{7, {2, 0, 0}}, {8, {2, 0, 1}}}) {
        cluster<gang> c({4, 4}, gang({.learner = 3, .backfill = false}));
        c.submit({.request = 2});
        c.submit({.request = request});
        c.submit({.request = 1});
        CHECK(c.decide() == expected);
    }
}

TEST_CASE("pack, spread, gang: a gang that loses a learner is stopped, a job of single learners goes on",
          "[gang][pack]") {
    cluster<gang> g({4, 4}, gang({.learner = 4}));
    cluster<pack> p({4, 4}, pack({.learner = 4}));
    g.submit({.request = 8, .least = 1});
    p.submit({.request = 8, .least = 1});
    g.decide();
    p.decide();
    g.capacity(1) = 0;
    p.capacity(1) = 0;
    CHECK(g.decide() == counts{0});
    CHECK(p.decide() == counts{4});
    g.capacity(1) = 4;
    p.capacity(1) = 4;
    CHECK(g.decide() == counts{8});
    CHECK(p.decide() == counts{8});
    CHECK(g.fault.empty());
    CHECK(p.fault.empty());
}

TEST_CASE("spread: puts a gang's learners apart, pack together", "[gang]") {
    cluster<gang> apart({4, 4, 4}, gang({.learner = 2, .placement = learner_placement::spread})),
        together({4, 4, 4}, gang({.learner = 2}));
    apart.submit({.request = 6});
    together.submit({.request = 6});
    apart.decide();
    together.decide();
    CHECK(apart.of(1) == places{{0, 2}, {1, 2}, {2, 2}});
    CHECK(together.of(1) == places{{0, 4}, {1, 2}});
}

TEST_CASE("pack, spread, gang: feasible answers in any cluster", "[pack][spread][gang]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, gang({.learner = 4}), true) == "");
        CHECK(trouble(seed, gang({.learner = 2, .placement = learner_placement::spread, .backfill = false}), true) ==
              "");
        CHECK(trouble(seed, pack({.learner = 1}), true) == "");
        CHECK(trouble(seed, pack({.learner = 2}), false) == "");
        CHECK(trouble(seed, pack({.learner = 1, .give_up = 50}), false) == "");
        CHECK(trouble(seed, spread{}, false) == "");
    }
}

namespace {

/// The largest block of free devices on one node, over all placements of a gang. -1: a placement does not exist.
std::int64_t best_largest_block(counts& free, std::size_t first, std::int64_t whole, std::int64_t learner,
                                std::int64_t rest) {
    if (first < free.size()) {
        std::int64_t best = -1;
        std::int64_t const most = std::min(whole, free[first] / learner);
        for (std::int64_t here = 0; here <= most; ++here) {
            free[first] -= here * learner;
            best = std::max(best, best_largest_block(free, first + 1, whole - here, learner, rest));
            free[first] += here * learner;
        }
        return best;
    }
    if (whole > 0) return -1;
    if (rest == 0) return *std::ranges::max_element(free);
    std::int64_t best = -1;
    for (std::int64_t& node : free) {
        if (node < rest) continue;
        node -= rest;
        best = std::max(best, *std::ranges::max_element(free));
        node += rest;
    }
    return best;
}

}  // namespace

// So a search for the best joint placement starts no further gang, and leaves less than one learner more together.
TEST_CASE("gang: finds a placement if one exists, and leaves the largest block but for a learner", "[gang]") {
    ration::rng_sequence rng(3);
    int refused = 0, short_of_best = 0;
    for (int round = 0; round < 2000; ++round) {
        auto const up_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + rng.below(most)); };
        std::int64_t const learner = up_to(4);
        counts free(static_cast<std::size_t>(up_to(6)));
        std::ranges::generate(free, [&] { return up_to(9) - 1; });
        std::int64_t const all = std::accumulate(free.begin(), free.end(), std::int64_t{0});
        if (all == 0) continue;
        std::int64_t const devices = up_to(static_cast<std::uint64_t>(all));
        cluster<gang> c(free, gang({.learner = learner}));
        auto const job = c.submit({.request = devices});
        bool const started = c.decide().front() == devices;
        std::int64_t const best = best_largest_block(free, 0, devices / learner, learner, devices % learner);
        REQUIRE(started == (best >= 0));
        refused += started ? 0 : 1;
        if (!started) continue;
        for (auto const& [node, amount] : c.of(job)) free[node] -= amount;
        std::int64_t const left = *std::ranges::max_element(free);
        REQUIRE(left <= best);
        REQUIRE(best - left < learner);
        short_of_best += left < best ? 1 : 0;
    }
    CHECK(refused > 100);
    CHECK(short_of_best > 10);
}
