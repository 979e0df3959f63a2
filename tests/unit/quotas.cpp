// SPDX-License-Identifier: BSL-1.0
// Quotas of tenants under policies that stop jobs: las and srtf.
#include <algorithm>
#include <string>

#include <ration/host/rng_sequence.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "quota_host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::las;
using ration::policies::srtf;

namespace {

template <class P>
[[nodiscard]] cluster<P> shared_by(std::vector<ration::tenant_description> const& tenants, rule by) {
    cluster<P> c({8}, P({.tenants = by}));
    c.set_tenants(tenants);
    return c;
}

/// The devices that each tenant holds.
template <class P>
[[nodiscard]] counts held_by_tenants(cluster<P> const& c, std::size_t tenants) {
    counts held(tenants);
    for (std::size_t row = 0; row < c.jobs(); ++row)
        held[c.store.at(c.columns.tenant, row)] += c.devices_of(c.id_of(row));
    return held;
}

/// Eight devices, in whose order of submission the jobs of the first tenant come first.
TEMPLATE_TEST_CASE("quotas with preemption: each rule", "[tenants]", las, srtf) {
    auto const after = [](rule by, std::vector<ration::tenant_description> const& tenants) {
        auto c = shared_by<TestType>(tenants, by);
        submit(c, 0, 2, 5);
        static_cast<void>(c.decide());
        submit(c, 1, 4);
        auto const held = c.decide();
        CHECK(c.fault.empty());
        return held;
    };
    auto const equal = with_quotas({4, 4});
    CHECK(after(rule::ignore, equal) == counts{2, 2, 2, 2, 0, 0});
    CHECK(after(rule::quota, equal) == counts{2, 2, 0, 0, 0, 4});
    CHECK(after(rule::borrow, equal) == counts{2, 2, 2, 2, 0, 0});
    CHECK(after(rule::reclaim, equal) == counts{2, 2, 0, 0, 0, 4});
    auto kept = equal;
    kept[1].lend[gpu_index] = 2;
    CHECK(after(rule::borrow, kept) == counts{2, 2, 2, 0, 0, 0});
    CHECK(after(rule::reclaim, kept) == counts{2, 2, 0, 0, 0, 4});
}

TEMPLATE_TEST_CASE("quotas with preemption: devices beyond all quotas go to the smallest borrowed share", "[tenants]",
                   las, srtf) {
    auto tenants = with_quotas({1, 1});
    for (double const weight : {1.0, 2.0}) {
        tenants[1].weight = weight;
        auto c = shared_by<TestType>(tenants, rule::reclaim);
        submit(c, 0, 1, 8);
        submit(c, 1, 1, 8);
        static_cast<void>(c.decide());
        CHECK(held_by_tenants(c, 2) == (weight > 1 ? counts{3, 5} : counts{4, 4}));
    }
}

TEMPLATE_TEST_CASE("quotas with preemption: a job is stopped only if another one starts", "[tenants]", las, srtf) {
    auto c = shared_by<TestType>(with_quotas({2, 6}), rule::reclaim);
    submit(c, 0, 3);
    CHECK(c.decide() == counts{3});
    submit(c, 1, 7);  // above its quota, and it does not fit beside the first one
    CHECK(c.decide() == counts{3, 0});
    submit(c, 1, 6);
    CHECK(c.decide() == counts{0, 0, 6});
    c.end(3);
    CHECK(c.decide() == counts{3, 0});
}

/// The first rule of quotas that the holdings break.
[[nodiscard]] std::string broken_rule(counts const& held, std::vector<ration::tenant_description> const& tenants,
                                      rule by, std::int64_t capacity, std::int64_t least_owned_that_waits) {
    std::int64_t needed = 0, owned = 0;
    for (std::size_t t = 0; t < held.size(); ++t) {
        std::int64_t const quota = tenants[t].quota[gpu_index], limit = tenants[t].limit[gpu_index];
        if (limit != ration::unlimited && held[t] > limit) return "above its limit";
        needed += std::max(held[t], by == rule::quota ? quota : quota - tenants[t].lend[gpu_index]);
        owned += std::min(held[t], quota);
    }
    if (needed > capacity) return "holds what another one does not lend";
    // Otherwise the borrowers' devices would do.
    if (by != rule::borrow && least_owned_that_waits <= capacity - owned) return "an owner waits for a borrower";
    return "";
}

/// The least request of a waiting job within the quota and the limit of its tenant.
template <class P>
[[nodiscard]] std::int64_t least_owned_that_waits(cluster<P> const& c, counts const& held,
                                                  std::vector<ration::tenant_description> const& tenants) {
    std::int64_t least = ration::max_amount;
    for (std::size_t row = 0; row < c.jobs(); ++row) {
        if (c.devices_of(c.id_of(row)) > 0) continue;
        auto const tenant = c.store.at(c.columns.tenant, row);
        auto const wanted = c.store.at(c.request, row), then = held[tenant] + wanted;
        auto const limit = tenants[tenant].limit[gpu_index];
        if (then <= tenants[tenant].quota[gpu_index] && (limit == ration::unlimited || then <= limit))
            least = std::min(least, wanted);
    }
    return least;
}

template <class P>
[[nodiscard]] std::string trouble_with_quotas(std::uint64_t seed, rule by) {
    ration::rng_sequence rng(seed);
    auto tenants = with_quotas({6, 5, 3});
    for (auto& tenant : tenants) tenant.lend[gpu_index] = static_cast<std::int64_t>(rng.below(4));
    tenants[2].limit[gpu_index] = 7;
    cluster<P> c({8, 8}, P({.tenants = by}));
    c.allocations = allocations;
    c.whole_requests = true;
    c.set_tenants(tenants);
    for (int tick = 0; tick < 300; ++tick) {
        c.pass(static_cast<double>(rng.below(4000)));
        for (std::size_t row = c.jobs(); row-- > 0;)
            if (rng.below(c.devices_of(c.id_of(row)) > 0 ? 8 : 60) == 0) c.end(c.id_of(row));
        for (std::uint64_t n = rng.below(3); n > 0; --n) c.submit(random_job(rng, true, 1, 16));
        static_cast<void>(c.decide());
        auto const held = held_by_tenants(c, tenants.size());
        auto const broken = broken_rule(held, tenants, by, 16, least_owned_that_waits(c, held, tenants));
        if (!broken.empty()) return broken + ", tick " + std::to_string(tick);
        // A job that starts may then come before another one of its tenant, which borrows in its place from now on.
        for (int again = 0; again < 3 && !c.answer.empty(); ++again) static_cast<void>(c.decide());
        if (!c.answer.empty()) return "changes its mind, tick " + std::to_string(tick);
    }
    return c.fault;
}

}  // namespace

TEMPLATE_TEST_CASE("quotas with preemption: feasible answers in any cluster", "[tenants]", las, srtf) {
    for (auto const by : {rule::quota, rule::borrow, rule::reclaim})
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            INFO("rule " << static_cast<int>(by) << ", seed " << seed);
            CHECK(trouble_with_quotas<TestType>(seed, by) == "");
        }
}

TEMPLATE_TEST_CASE("quotas with preemption: the laws of policies hold under each rule", "[tenants][laws]", las, srtf) {
    for (auto const by : {rule::quota, rule::borrow, rule::reclaim}) {
        auto const kept =
            ration::testing::policy_laws([&] { return TestType({.tenants = by}); },
                                         {.ticks = 200, .most = {.jobs = 8, .nodes = 2}, .fill = change_quotas});
        INFO(std::string(kept ? "" : kept.failure().operation)
             << std::string(kept ? "" : kept.failure().subject.view()));
        CHECK(kept);
    }
}
