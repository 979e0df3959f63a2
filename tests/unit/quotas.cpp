// SPDX-License-Identifier: BSL-1.0
// Quotas of tenants under policies that stop jobs, las and srtf, and under those that start learners.
#include <algorithm>
#include <string>
#include <utility>

#include <ration/host/rng_sequence.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "quota_host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::gang;
using ration::policies::las;
using ration::policies::pack;
using ration::policies::spread;
using ration::policies::srtf;

namespace {

/// The policy with this rule. Learners have one device, so that all devices that are free can be used.
template <class P>
[[nodiscard]] P keeping(rule by) {
    typename P::parameters parameters{.tenants = by};
    if constexpr (requires { parameters.learner; }) parameters.learner = 1;
    return P(parameters);
}

template <class P>
[[nodiscard]] cluster<P> shared_by(std::vector<ration::tenant_description> const& tenants, rule by) {
    cluster<P> c({8}, keeping<P>(by));
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
TEMPLATE_TEST_CASE("quotas: each rule", "[tenants]", las, srtf, gang, pack, spread) {
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
    CHECK(after(rule::ignore, equal).back() == 0);
    CHECK(after(rule::quota, equal) == counts{2, 2, 0, 0, 0, 4});
    CHECK(after(rule::borrow, equal) == counts{2, 2, 2, 2, 0, 0});
    CHECK(after(rule::reclaim, equal) == counts{2, 2, 0, 0, 0, 4});
    auto kept = equal;
    kept[1].lend[gpu_index] = 2;
    CHECK(after(rule::borrow, kept) == counts{2, 2, 2, 0, 0, 0});
    CHECK(after(rule::reclaim, kept) == counts{2, 2, 0, 0, 0, 4});
    kept[1].lend[gpu_index] = 0;
    CHECK(after(rule::borrow, kept) == counts{2, 2, 0, 0, 0, 4});
}

TEMPLATE_TEST_CASE("quotas: devices beyond all quotas go to the smallest borrowed share", "[tenants]", las, srtf, gang,
                   pack, spread) {
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

TEMPLATE_TEST_CASE("quotas: a job is stopped only if another one starts", "[tenants]", las, srtf, gang, pack, spread) {
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

/// The first rule of quotas that the holdings break. `may_use_unlent`: an owner may start on devices that another one
/// does not lend, which stops borrowers for them.
[[nodiscard]] std::string broken_rule(counts const& held, std::vector<ration::tenant_description> const& tenants,
                                      rule by, bool may_use_unlent, std::int64_t capacity,
                                      std::int64_t least_owned_that_waits) {
    std::int64_t needed = 0, owned = 0;
    for (std::size_t t = 0; t < held.size(); ++t) {
        std::int64_t const quota = tenants[t].quota[gpu_index], limit = tenants[t].limit[gpu_index];
        if (limit != ration::unlimited && held[t] > limit) return "above its limit";
        needed += std::max(held[t], by == rule::quota ? quota : quota - tenants[t].lend[gpu_index]);
        owned += std::min(held[t], quota);
    }
    if (needed > capacity && !may_use_unlent) return "holds what another one does not lend";
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
    constexpr bool stops_only_for_owners = requires(typename P::parameters p) { p.learner; };
    bool const may_use_unlent = stops_only_for_owners && by == rule::reclaim;
    cluster<P> c({8, 8}, keeping<P>(by));
    c.allocations = allocations;
    c.whole_requests = true;
    c.set_tenants(tenants);
    for (int tick = 0; tick < 300; ++tick) {
        c.pass(static_cast<double>(rng.below(4000)));
        for (std::size_t row = c.jobs(); row-- > 0;)
            if (rng.below(c.devices_of(c.id_of(row)) > 0 ? 8 : 60) == 0) c.end(c.id_of(row));
        for (std::uint64_t n = rng.below(3); n > 0; --n) {
            auto job = random_job(rng, true, 1, 16);
            job.least = 1;  // for learners one at a time; other policies do not read it
            c.submit(job);
        }
        static_cast<void>(c.decide());
        auto const held = held_by_tenants(c, tenants.size());
        auto const broken =
            broken_rule(held, tenants, by, may_use_unlent, 16, least_owned_that_waits(c, held, tenants));
        if (!broken.empty()) return broken + ", tick " + std::to_string(tick);
        // A job that starts may then come before another one of its tenant, which borrows in its place from now on.
        for (int again = 0; again < 3 && !c.answer.empty(); ++again) static_cast<void>(c.decide());
        if (!c.answer.empty()) return "changes its mind, tick " + std::to_string(tick);
    }
    return c.fault;
}

}  // namespace

TEMPLATE_TEST_CASE("quotas: feasible answers in any cluster", "[tenants]", las, srtf, gang, pack, spread) {
    for (auto const by : {rule::quota, rule::borrow, rule::reclaim})
        for (std::uint64_t seed = 1; seed <= 2; ++seed) {
            INFO("rule " << static_cast<int>(by) << ", seed " << seed);
            CHECK(trouble_with_quotas<TestType>(seed, by) == "");
        }
}

namespace {

/// Quotas that change, and a node that loses devices now and then.
void change_quotas_and_nodes(ration::snapshot_store& store, std::uint64_t tick) {
    change_quotas(store, tick);
    auto const capacity = must(store.find<std::int64_t>("nodes/capacity.gpu")),
               free = must(store.find<std::int64_t>("nodes/free.gpu"));
    std::int64_t const now = tick % 50 < 40 ? 8 : 3;
    store[free][1] += now - store[capacity][1];
    store[capacity][1] = now;
}

}  // namespace

TEMPLATE_TEST_CASE("quotas: the laws of policies hold under each rule", "[tenants][laws]", las, srtf, gang, pack,
                   spread) {
    for (auto* const fill : {&change_quotas, &change_quotas_and_nodes})
        for (auto const by : {rule::quota, rule::borrow, rule::reclaim}) {
            auto const kept = ration::testing::policy_laws(
                [&] { return TestType({.tenants = by}); },
                {.ticks = 200, .most = {.jobs = 8, .nodes = 2}, .fill = fill, .allocations = allocations});
            INFO(std::string(kept ? "" : kept.failure().operation)
                 << std::string(kept ? "" : kept.failure().subject.view()));
            CHECK(kept);
        }
}

namespace {

/// Learners of up to four devices. The first tenant has no quota, and the second one has eight devices.
template <class P>
[[nodiscard]] cluster<P> with_an_owner(std::vector<std::int64_t> const& capacities) {
    cluster<P> c(capacities, P({.learner = 4, .tenants = rule::reclaim}));
    c.set_tenants(with_quotas({0, 8}));
    return c;
}
/// Submits a job, so that its place does not depend on later ones.
template <class P>
counts start(cluster<P>& c, std::uint32_t tenant, std::int64_t devices) {
    submit(c, tenant, devices);
    return c.decide();
}

}  // namespace

TEMPLATE_TEST_CASE("quotas: jobs are stopped until an owner's learners fit, and those that it does not need run on",
                   "[tenants][gang]", gang, pack) {
    for (auto const& [request, expected] : {std::pair<std::int64_t, counts>{4, {0, 3, 1, 4}}, {5, {0, 3, 0, 5}}}) {
        auto c = with_an_owner<TestType>({4, 4});
        static_cast<void>(start(c, 0, 4));
        static_cast<void>(start(c, 1, 3));
        CHECK(start(c, 0, 1) == counts{4, 3, 1});
        CHECK(start(c, 1, request) == expected);
        CHECK(c.of(4) == (request == 4 ? places{{0, 4}} : places{{0, 4}, {1, 1}}));
        CHECK(c.reason_of(1) == "stopped for a job within the quota of its tenant");
        CHECK(c.reason_of(3) == (request == 4 ? "unchanged" : c.reason_of(1)));
        CHECK(c.fault.empty());
    }
}

TEMPLATE_TEST_CASE("quotas: no job is stopped or moved if an owner's learner would still not fit", "[tenants][gang]",
                   gang, pack) {
    auto c = with_an_owner<TestType>({4, 4, 4});
    for (int node = 0; node < 3; ++node) {
        static_cast<void>(start(c, 1, 1));
        static_cast<void>(start(c, 0, 3));
    }
    c.end(2);
    CHECK(start(c, 1, 4) == counts{1, 1, 3, 1, 3, 0});
    CHECK(c.answer.empty());
    CHECK(c.fault.empty());
}

TEMPLATE_TEST_CASE("quotas: an owner's job with several learners starts whole", "[tenants][pack]", gang, pack, spread) {
    cluster<TestType> c({4, 4}, TestType({.learner = 2, .tenants = rule::reclaim}));
    c.set_tenants(with_quotas({0, 8}));
    submit(c, 0, 2, 4);
    CHECK(c.decide() == counts{2, 2, 2, 2});
    c.submit({.request = 6, .least = 2, .tenant = 1});
    CHECK(c.decide() == counts{2, 0, 0, 0, 6});
    CHECK(c.fault.empty());
}

// Of four jobs that ask for all eight devices twice, two are admitted.
TEMPLATE_TEST_CASE("quotas: jobs that are admitted do not wait for each other's learners", "[tenants][pack]", pack,
                   spread) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        auto c = shared_by<TestType>(with_quotas({4, 4}), rule::quota);
        c.ticks = seed;
        for (std::uint32_t const tenant : {0u, 0u, 1u, 1u}) c.submit({.request = 4, .least = 1, .tenant = tenant});
        CHECK(c.decide() == counts{4, 0, 4, 0});
        CHECK(c.fault.empty());
    }
}

// Of the first tenant's quota of eight, the job that lacks a learner counts eight.
TEST_CASE("quotas: learners that a job lacks count as held by its tenant", "[tenants][spread]") {
    cluster<spread> c({4, 4, 4}, spread({.learner = 4, .tenants = rule::quota}));
    c.set_tenants(with_quotas({8, 4}));
    submit(c, 1, 1, 2);
    CHECK(c.decide() == counts{1, 1});
    c.submit({.request = 8, .least = 1, .tenant = 0});
    CHECK(c.decide() == counts{1, 1, 4});
    submit(c, 0, 1);
    CHECK(c.decide() == counts{1, 1, 4, 0});
    c.end(1);
    CHECK(c.decide() == counts{1, 8, 0});
    CHECK(c.fault.empty());
}

// Of the eight devices that are left, the second tenant does not lend four.
TEST_CASE("quotas: a gang that has lost a node counts no more as held", "[tenants][gang]") {
    cluster<gang> c({4, 4, 4}, gang({.learner = 4, .tenants = rule::borrow}));
    auto tenants = with_quotas({8, 4});
    tenants[1].lend[gpu_index] = 0;
    c.set_tenants(tenants);
    submit(c, 0, 8);
    CHECK(c.decide() == counts{8});
    submit(c, 0, 4, 2);
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{0, 4, 0});
    CHECK(c.fault.empty());
}

TEMPLATE_TEST_CASE("quotas: without tenants the order of learners stays", "[tenants][pack]", gang, pack, spread) {
    for (auto const by : {rule::quota, rule::reclaim})
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            cluster<TestType> gated({4, 4}, keeping<TestType>(by)), plain({4, 4}, keeping<TestType>(rule::ignore));
            for (auto* const c : {&gated, &plain}) {
                c->ticks = seed;
                for (int i = 0; i < 4; ++i) c->submit({.request = 4, .least = 1, .tenant = ration::no_tenant});
            }
            CHECK(gated.decide() == plain.decide());
        }
}
