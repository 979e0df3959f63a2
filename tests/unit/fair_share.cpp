// SPDX-License-Identifier: BSL-1.0
// fair_queue and fair_tree: whose job starts next.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <ration/policies/fair_queue.hpp>
#include <ration/policies/fair_tree.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "quota_host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::fair_queue;
using ration::policies::fair_tree;
using ration::policies::queue_order;

namespace {

template <class P>
[[nodiscard]] cluster<P> shared_by(std::vector<ration::tenant_description> const& tenants, std::int64_t devices,
                                   P policy = P{}) {
    cluster<P> c({devices}, std::move(policy));
    c.set_tenants(tenants);
    return c;
}

/// The tenants of the next jobs, A to Z: as many as there are starts, one after another on one device.
template <class P>
[[nodiscard]] std::string next_starts(cluster<P>& c, int starts, double seconds = 0) {
    std::string order;
    for (; starts > 0; --starts) {
        auto const held = c.decide();
        auto const runs =
            static_cast<std::size_t>(std::ranges::find_if(held, [](auto n) { return n > 0; }) - held.begin());
        if (runs == held.size()) break;
        order += static_cast<char>('A' + c.store.at(c.columns.tenant, runs));
        c.pass(seconds);
        c.show();
        c.end(c.id_of(runs));
    }
    CHECK(c.fault.empty());
    return order;
}
[[nodiscard]] auto starts_of(std::string const& order, char tenant) {
    return std::count(order.begin(), order.end(), tenant);
}

}  // namespace

TEST_CASE("fair_queue: tenants take turns, however many jobs one of them has submitted before", "[tenants]") {
    for (auto const order : {queue_order::wrr, queue_order::virtual_time}) {
        auto c = shared_by(weighing({1, 1, 1}), 1, fair_queue({.order = order}));
        submit(c, 0, 1, 9);
        CHECK(next_starts(c, 3) == "AAA");
        submit(c, 1, 1, 3);
        submit(c, 2, 1, 1);
        CHECK(next_starts(c, 20) == "ABCABABAAA");
    }
}

TEST_CASE("fair_queue: a tenant starts as many jobs as it weighs, also with a fraction", "[tenants]") {
    for (double const weight : {3.0, 2.5, 1 / 3.0}) {
        auto c = shared_by(weighing({weight, 1}), 1, fair_queue{});
        submit(c, 0, 1, 100);
        submit(c, 1, 1, 100);
        auto const order = next_starts(c, 80);
        INFO(order);
        CHECK(std::abs(static_cast<double>(starts_of(order, 'A')) - 80 * weight / (weight + 1)) <= 1);
        CHECK(starts_of(order, 'A') + starts_of(order, 'B') == 80);
    }
}

TEST_CASE("fair_queue: wrr counts jobs, virtual_time counts devices", "[tenants]") {
    auto const order_of = [](queue_order order) {
        auto c = shared_by(weighing({1, 1}), 4, fair_queue({.order = order}));
        submit(c, 0, 4, 10);
        submit(c, 1, 3, 30);
        return next_starts(c, 14);
    };
    CHECK(order_of(queue_order::wrr) == "ABABABABABABAB");
    CHECK(order_of(queue_order::virtual_time) == "BABABABBABABAB");
}

TEST_CASE("fair_queue: an empty queue gains no credit, and a tenant keeps its place", "[tenants]") {
    auto c = shared_by(weighing({1, 1}), 1, fair_queue{});
    submit(c, 0, 1, 20);
    CHECK(next_starts(c, 10) == "AAAAAAAAAA");
    submit(c, 1, 1, 5);
    CHECK(next_starts(c, 6) == "ABABAB");
    submit(c, 1, 1, 1);
    CHECK(next_starts(c, 4) == "ABAB");
}

namespace {

/// The tenants of the next nine starts, A for the id 1, after a restart with these rows, each of which has jobs that
/// wait. Before it, A has started three jobs, B one and C none.
[[nodiscard]] std::string starts_after_restart(std::vector<ration::tenant_description> const& rows) {
    auto before = shared_by(weighing({1, 0.29, 0.11}), 1, fair_queue{});
    for (std::uint32_t row = 0; row < 3; ++row) submit(before, row, 1, 5);
    CHECK(next_starts(before, 4) == "AAAB");
    std::vector<std::byte> bytes(before.policy.save({}));
    static_cast<void>(before.policy.save(bytes));
    auto after = shared_by(rows, 1, fair_queue{});
    for (fair_queue* one : {&after.policy, &after.twin}) CHECK(one->load(bytes) == ration::status::ok);
    after.ticks = before.ticks;
    for (std::uint32_t row = 0; row < rows.size(); ++row) submit(after, row, 1, 9);
    auto order = next_starts(after, 9);
    for (char& of : order) of = static_cast<char>('A' + rows[static_cast<std::size_t>(of - 'A')].id - 1);
    return order;
}

}  // namespace

// The next tags are 4, 5, ... of A, 6.9 of B and 9.1 of C, and 4.4, 5.4, ... of a new tenant.
TEST_CASE("fair_queue: after a restart each tenant has its own tags, also in another row", "[tenants]") {
    auto const all = weighing({1, 0.29, 0.11, 1});
    CHECK(starts_after_restart({all[0], all[1], all[2]}) == "AAABAAACA");
    CHECK(starts_after_restart({all[2], all[1], all[0]}) == "AAABAAACA");
    CHECK(starts_after_restart({all[1], all[2], all[0]}) == "AAABAAACA");
    CHECK(starts_after_restart({all[1], all[0]}) == "AAABAAAAB");
    CHECK(starts_after_restart({all[3], all[0], all[1], all[2]}) == "ADADADBAD");
}

TEST_CASE("fair_queue: damaged state is refused and changes nothing", "[tenants]") {
    auto c = shared_by(weighing({1, 1}), 1, fair_queue{});
    submit(c, 0, 1, 5);
    submit(c, 1, 1, 5);
    CHECK(next_starts(c, 3) == "ABA");
    auto const saved_by = [](fair_queue const& policy) {
        std::vector<std::byte> bytes(policy.save({}));
        static_cast<void>(policy.save(bytes));
        return bytes;
    };
    auto const bytes = saved_by(c.policy);
    fair_queue again;
    REQUIRE(again.load(bytes) == ration::status::ok);
    CHECK(saved_by(again) == bytes);
    // The virtual time, the number of tenants, and the truth value of the last tag.
    std::size_t const times = sizeof(std::uint64_t) + 1;
    for (std::size_t const at : {times, times + 2 * sizeof(double), bytes.size() - 1}) {
        auto damaged = bytes;
        std::fill_n(damaged.begin() + static_cast<std::ptrdiff_t>(at), std::min(sizeof(double), bytes.size() - at),
                    std::byte{0xFF});
        CHECK(again.load(damaged) == ration::status::state);
    }
    auto const whole = std::span(bytes);
    CHECK(again.load(whole.first(bytes.size() - 1)) == ration::status::state);
    CHECK(saved_by(again) == bytes);
}

TEST_CASE("fair_queue, fair_tree: a limit blocks its tenant only", "[tenants]") {
    auto tenants = weighing({1, 1, 1});
    tenants[1].parent = 0;
    tenants[0].limit[gpu_index] = 2;
    auto const held = [&](auto policy) {
        auto c = shared_by(tenants, 8, std::move(policy));
        submit(c, 1, 1, 5);
        submit(c, 0, 1, 1);
        submit(c, 2, 1, 5);
        auto const all = c.decide();
        CHECK(c.fault.empty());
        return all;
    };
    CHECK(held(fair_queue{}) == counts{1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
    CHECK(held(fair_tree{}) == counts{1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("fair_queue, fair_tree: a job that does not fit holds back all, unless others may pass", "[tenants]") {
    auto const held = [](auto policy) {
        auto c = shared_by(weighing({1, 1}), 4, std::move(policy));
        submit(c, 0, 3);
        submit(c, 1, 5);  // more than there is
        submit(c, 1, 2);
        submit(c, 0, 1);
        return c.decide();
    };
    CHECK(held(fair_queue{}) == counts{3, 0, 0, 0});
    CHECK(held(fair_queue({.backfill = true})) == counts{3, 0, 0, 1});
    CHECK(held(fair_tree{}) == counts{3, 0, 0, 0});
    CHECK(held(fair_tree({.backfill = true})) == counts{3, 0, 0, 1});
}

TEST_CASE("fair_tree: the tenant that has used less comes first until both are even", "[tenants]") {
    auto c = shared_by(weighing({1, 1}), 1, fair_tree{});
    submit(c, 0, 1, 20);
    CHECK(next_starts(c, 3, 10) == "AAA");
    submit(c, 1, 1, 20);
    CHECK(next_starts(c, 7, 10) == "BBBABAB");
}

TEST_CASE("fair_tree: weights count among the tenants of one parent, and an idle branch passes its share on",
          "[tenants]") {
    auto tenants = weighing({1, 1, 3, 1});  // A has B and C, D is alone
    tenants[1].parent = tenants[2].parent = 0;
    auto c = shared_by(tenants, 1, fair_tree{});
    for (std::uint32_t const tenant : {1u, 2u, 3u}) submit(c, tenant, 1, 200);
    auto const all = next_starts(c, 160, 1);
    INFO(all);
    CHECK(std::abs(starts_of(all, 'B') - 20) <= 1);
    CHECK(std::abs(starts_of(all, 'C') - 60) <= 1);
    CHECK(std::abs(starts_of(all, 'D') - 80) <= 1);
    auto without = shared_by(tenants, 1, fair_tree{});
    submit(without, 1, 1, 100);
    submit(without, 3, 1, 100);
    auto const two = next_starts(without, 80, 1);
    CHECK(std::abs(starts_of(two, 'B') - 40) <= 1);
}

TEST_CASE("fair_tree: without a past, devices are divided by weight", "[tenants]") {
    auto c = shared_by(weighing({3, 1}), 8, fair_tree{});
    submit(c, 1, 1, 8);
    submit(c, 0, 1, 8);
    CHECK(c.decide() == counts{1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0});
}

namespace {

/// Usage that changes, and limits.
void change_usage(ration::snapshot_store& store, std::uint64_t tick) {
    change_quotas(store, tick);
    auto const usage = must(store.find<double>("tenants/usage.gpu"));
    for (std::size_t t = 0; t < store.rows(table_id::tenants); ++t)
        store[usage][t] = static_cast<double>((tick / 7 * (t + 3)) % 11);
}

}  // namespace

TEMPLATE_TEST_CASE("fair_queue, fair_tree: the laws of policies, and feasible answers in any cluster",
                   "[tenants][laws]", fair_queue, fair_tree) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, TestType{}, true) == "");
        CHECK(trouble(seed, TestType({.backfill = true}), true) == "");
        for (auto* const fill : {static_cast<decltype(&change_usage)>(nullptr), &change_usage}) {
            auto const kept =
                ration::testing::policy_laws([] { return TestType({.backfill = true}); },
                                             {.seed = seed, .ticks = 300, .fill = fill, .allocations = allocations});
            INFO(std::string(kept ? "" : kept.failure().operation)
                 << std::string(kept ? "" : kept.failure().subject.view()));
            CHECK(kept);
        }
    }
}
