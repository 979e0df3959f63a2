// SPDX-License-Identifier: BSL-1.0
// fifo: the order of submission, and what happens to the rest.
#include <ration/policies/fifo.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::fifo;

TEST_CASE("fifo: starts jobs in the order of submission, whole", "[fifo]") {
    cluster<fifo> c({4, 4});
    for (std::int64_t const request : {3, 4, 1, 1}) c.submit({.request = request});
    CHECK(c.decide() == counts{3, 4, 1, 0});
    c.end(2);
    CHECK(c.decide() == counts{3, 1, 1});
    CHECK(c.reason_of(4) == "its turn has come and its devices are there");
    CHECK(c.fault.empty());
}

TEST_CASE("fifo: a job that does not fit holds back all later ones, unless they may pass", "[fifo]") {
    cluster<fifo> strict({8}), lenient({8}, fifo({.backfill = true}));
    for (std::int64_t const request : {5, 4, 2, 2, 1}) {
        strict.submit({.request = request});
        lenient.submit({.request = request});
    }
    CHECK(strict.decide() == counts{5, 0, 0, 0, 0});
    CHECK(lenient.decide() == counts{5, 0, 2, 0, 1});
    strict.end(1);
    CHECK(strict.decide() == counts{4, 2, 2, 0});
}

TEST_CASE("fifo: a job larger than the cluster holds nobody back, until nodes return", "[fifo]") {
    cluster<fifo> c({4, 4});
    c.capacity(1) = 0;
    c.submit({.request = 8});
    c.submit({.request = 2});
    c.submit({.request = 3});
    CHECK(c.decide() == counts{0, 2, 0});
    c.capacity(1) = 4;
    c.end(2);
    CHECK(c.decide() == counts{8, 0});
}

TEST_CASE("fifo: a job whose node fails goes on elsewhere, or waits for its turn", "[fifo]") {
    cluster<fifo> c({4, 4});
    c.submit({.request = 3});
    c.submit({.request = 2});
    c.submit({.request = 3});
    CHECK(c.decide() == counts{3, 2, 3});
    CHECK(c.of(3) == places{{0, 1}, {1, 2}});
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{0, 2, 0});
    CHECK(c.reason_of(1) == "a node of its lost devices");
    c.capacity(0) = 4;
    CHECK(c.decide() == counts{3, 2, 3});
    CHECK(c.of(2) == places{{1, 2}});
    CHECK(c.fault.empty());
}

TEST_CASE("fifo: ignores jobs that have ended, and hosts without jobs or nodes", "[fifo]") {
    cluster<fifo> c({4});
    auto const id = c.submit({.request = 4});
    c.submit({.request = 4});
    c.store[c.columns.state][c.row_of(id)] = static_cast<std::uint32_t>(job_state::failed);
    CHECK(c.decide() == counts{0, 4});
    cluster<fifo> nobody({4}), nowhere({});
    CHECK(nobody.decide().empty());
    nowhere.submit({.request = 1});
    CHECK(nowhere.decide() == counts{0});
}

TEST_CASE("fifo: feasible answers in any cluster", "[fifo]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, fifo{}, true) == "");
        CHECK(trouble(seed, fifo({.backfill = true}), true) == "");
        CHECK(trouble(seed, fifo{}, false) == "");
    }
}
