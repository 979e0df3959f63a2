// SPDX-License-Identifier: BSL-1.0
// fifo: the order of submission, and what happens to the rest.
#include <tuple>
#include <utility>

#include <ration/policies/fifo.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "quota_host.hpp"
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

namespace {

[[nodiscard]] cluster<fifo> shared_by(std::vector<std::int64_t> const& quotas, rule tenants, bool backfill = false) {
    cluster<fifo> c({8}, fifo({.backfill = backfill, .tenants = tenants}));
    c.set_tenants(with_quotas(quotas));
    return c;
}

}  // namespace

TEST_CASE("fifo with quotas: a tenant holds no more than its quota, and devices stay free", "[fifo][tenants]") {
    auto c = shared_by({4, 4}, rule::quota);
    submit(c, 0, 2, 4);
    CHECK(c.decide() == counts{2, 2, 0, 0});
    submit(c, 1, 3);
    CHECK(c.decide() == counts{2, 2, 0, 0, 3});
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: a tenant borrows what the other lends and does not hold", "[fifo][tenants]") {
    auto c = shared_by({4, 4}, rule::borrow);
    submit(c, 0, 2, 5);
    CHECK(c.decide() == counts{2, 2, 2, 2, 0});
    submit(c, 1, 2, 2);
    CHECK(c.decide() == counts{2, 2, 2, 2, 0, 0, 0});  // nothing is taken back
    c.end(1);
    CHECK(c.decide() == counts{2, 2, 2, 0, 2, 0});  // the owner comes before the borrower
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: an owner takes back what was borrowed, of the newest job first", "[fifo][tenants]") {
    auto c = shared_by({4, 4}, rule::reclaim);
    submit(c, 0, 2, 4);
    CHECK(c.decide() == counts{2, 2, 2, 2});
    submit(c, 1, 2);
    CHECK(c.decide() == counts{2, 2, 2, 0, 2});
    submit(c, 1, 3);  // beyond its quota
    CHECK(c.decide() == counts{2, 2, 2, 0, 2, 0});
    submit(c, 1, 2);  // waits behind the job of 3
    CHECK(c.decide() == counts{2, 2, 2, 0, 2, 0, 0});
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: no job is stopped if the owner's job would not start", "[fifo][tenants]") {
    auto c = shared_by({6, 6}, rule::reclaim);  // more than there is
    submit(c, 0, 6);
    submit(c, 0, 1);
    CHECK(c.decide() == counts{6, 1});
    submit(c, 1, 4);
    CHECK(c.decide() == counts{6, 1, 0});  // 1 is free and 1 is borrowed
    submit(c, 1, 2);
    CHECK(c.decide() == counts{6, 1, 0, 0});
    c.end(3);
    CHECK(c.decide() == counts{6, 0, 2});
    CHECK(c.fault.empty());
}

// The newest borrower is stopped first. Its devices are on a node that the owner's job then does not need.
TEST_CASE("fifo with quotas: a job of a borrower runs on if the owner's job starts without its devices",
          "[fifo][tenants]") {
    cluster<fifo> c({4, 4}, fifo({.tenants = rule::reclaim}));
    c.set_tenants(with_quotas({0, 8}));
    submit(c, 0, 4);
    submit(c, 1, 3);
    submit(c, 0, 1);
    CHECK(c.decide() == counts{4, 3, 1});
    submit(c, 1, 4);
    CHECK(c.decide() == counts{0, 3, 1, 4});
    CHECK(c.answer.size() == 2);
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: what a tenant does not lend stays free for it", "[fifo][tenants]") {
    cluster<fifo> c({8}, fifo({.tenants = rule::borrow}));
    auto tenants = with_quotas({4, 4});
    tenants[1].lend[gpu_index] = 1;
    c.set_tenants(tenants);
    submit(c, 0, 1, 8);
    CHECK(c.decide() == counts{1, 1, 1, 1, 1, 0, 0, 0});
    submit(c, 1, 3);
    CHECK(c.decide() == counts{1, 1, 1, 1, 1, 0, 0, 0, 3});
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: devices without a quota go to the smallest borrowed share", "[fifo][tenants]") {
    auto c = shared_by({1, 1}, rule::borrow, true);
    submit(c, 0, 1, 8);
    submit(c, 1, 1, 8);
    auto const held = c.decide();
    std::int64_t first = 0, second = 0;
    for (std::size_t row = 0; row < 16; ++row) (row < 8 ? first : second) += held[row];
    CHECK(first == 4);
    CHECK(second == 4);
}

TEST_CASE("fifo with quotas: a cohort borrows from the next one when its own is used up", "[fifo][tenants]") {
    cluster<fifo> c({8}, fifo({.tenants = rule::borrow}));
    auto tenants = with_quotas({0, 2, 2, 4});
    tenants[1].parent = tenants[2].parent = 0;  // a lab of two groups, and a separate tenant
    c.set_tenants(tenants);
    submit(c, 1, 1, 9);
    CHECK(c.decide() == counts{1, 1, 1, 1, 1, 1, 1, 1, 0});
    cluster<fifo> kept({8}, fifo({.tenants = rule::borrow}));
    tenants[3].lend[gpu_index] = 0;
    kept.set_tenants(tenants);
    submit(kept, 1, 1, 9);
    CHECK(kept.decide() == counts{1, 1, 1, 1, 0, 0, 0, 0, 0});
}

// A lab of two groups is within its quota, and its groups have none. So only the last tenant borrows, although the
// first group holds more for the other quotas of its cohort.
TEST_CASE("fifo with quotas: a group within the quota of its lab does not borrow", "[fifo][tenants]") {
    auto tenants = with_quotas({6, 0, 0, 2, 0});
    tenants[1].parent = tenants[2].parent = 0;
    for (std::uint32_t const owner : {2u, 3u}) {
        cluster<fifo> c({8}, fifo({.tenants = rule::reclaim}));
        c.set_tenants(tenants);
        submit(c, 1, 4);
        submit(c, 4, 2, 2);
        CHECK(c.decide() == counts{4, 2, 2});
        submit(c, owner, 2);
        CHECK(c.decide() == counts{4, 2, 0, 2});
        CHECK(c.fault.empty());
    }
}

// The second group holds four devices of the first one, so that their lab has its quota. The last tenant holds all
// devices of the separate one.
TEST_CASE("fifo with quotas: an owner has its devices back from its own cohort, or the cohort from others",
          "[fifo][tenants]") {
    auto tenants = with_quotas({6, 4, 2, 6, 0});
    tenants[1].parent = tenants[2].parent = 0;
    for (auto const& [owner, devices, expected] :
         {std::tuple<std::uint32_t, std::int64_t, counts>{1, 4, {2, 0, 0, 2, 2, 2, 4}},
          {3, 2, {2, 2, 2, 2, 2, 0, 2}}}) {
        cluster<fifo> c({12}, fifo({.tenants = rule::reclaim}));
        c.set_tenants(tenants);
        submit(c, 2, 2, 3);
        submit(c, 4, 2, 3);
        CHECK(c.decide() == counts{2, 2, 2, 2, 2, 2});
        submit(c, owner, devices);
        CHECK(c.decide() == expected);
        CHECK(c.fault.empty());
    }
}

// The quotas are for ten devices, of which four are lost. The lab is within its quota, so the separate tenant has none
// of its devices back. Within the lab, the first group has.
TEST_CASE("fifo with quotas: that one owner has nothing back does not hold for others", "[fifo][tenants]") {
    auto tenants = with_quotas({4, 2, 2, 6});
    tenants[1].parent = tenants[2].parent = 0;
    cluster<fifo> c({6}, fifo({.backfill = true, .tenants = rule::reclaim}));
    c.set_tenants(tenants);
    submit(c, 2, 2, 2);
    submit(c, 3, 2);
    CHECK(c.decide() == counts{2, 2, 2});
    submit(c, 3, 2);
    submit(c, 1, 2);
    CHECK(c.decide() == counts{2, 0, 2, 0, 2});
    CHECK(c.fault.empty());
}

TEST_CASE("fifo with quotas: it keeps within the limits of tenants", "[fifo][tenants]") {
    cluster<fifo> c({8}, fifo({.tenants = rule::borrow}));
    auto tenants = with_quotas({2, 2});
    tenants[0].limit[gpu_index] = 3;
    c.set_tenants(tenants);
    submit(c, 0, 1, 6);
    CHECK(c.decide() == counts{1, 1, 1, 0, 0, 0});
}

TEST_CASE("fifo with quotas: it keeps the laws under each rule", "[fifo][tenants][laws]") {
    for (auto const rule : {rule::quota, rule::borrow, rule::reclaim})
        for (bool const backfill : {false, true}) {
            auto const kept =
                ration::testing::policy_laws([&] { return fifo({.backfill = backfill, .tenants = rule}); },
                                             {.ticks = 200, .most = {.jobs = 8, .nodes = 2}, .fill = change_quotas});
            INFO(std::string(kept ? "" : kept.failure().operation)
                 << std::string(kept ? "" : kept.failure().subject.view()));
            CHECK(kept);
        }
}

TEST_CASE("fifo with quotas: without tenants it is fifo", "[fifo][tenants]") {
    for (auto const rule : {rule::quota, rule::borrow, rule::reclaim}) {
        cluster<fifo> c({4}, fifo({.tenants = rule}));
        for (std::int64_t const request : {3, 2, 1}) c.submit({.request = request});
        CHECK(c.decide() == counts{3, 0, 0});
    }
}
