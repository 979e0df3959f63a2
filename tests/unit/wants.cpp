// SPDX-License-Identifier: BSL-1.0
// wants, and max_min with heed_wants: the request of a running job bounds its devices.
#include <cstdint>

#include <ration/policies/wants.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::max_min;
using ration::policies::wants;

TEST_CASE("wants: each job gets its request, and the rest stays free", "[wants]") {
    cluster<wants> c({8});
    for (int i = 0; i < 2; ++i) c.submit({.least = 1, .most = 6});
    request(c, 0, 2);
    request(c, 1, 3);
    CHECK(c.decide() == counts{2, 3});
    request(c, 0, 4);  // no job has come or gone
    CHECK(c.decide() == counts{4, 3});
    request(c, 1, 1);
    CHECK(c.decide() == counts{4, 1});
    CHECK(c.fault.empty());
}

TEST_CASE("wants: a request is clamped to the bounds, and a job without one may have its maximum", "[wants]") {
    for (auto const& [requested, devices] :
         {std::pair<std::int64_t, std::int64_t>{1, 2}, {4096, 5}, {3, 3}, {0, 5}, {-7, 5}}) {
        cluster<wants> c({8});
        c.submit({.least = 2, .most = 5});
        request(c, 0, requested);
        INFO("requested " << requested);
        CHECK(c.decide() == counts{devices});
        CHECK(c.fault.empty());
    }
}

// The second tenant's jobs together get no more than the first one's job.
TEST_CASE("wants: requests beyond the devices are divided among tenants first, by weight", "[wants][tenants]") {
    for (auto const& [weight, expected] : {std::pair<double, counts>{1, {6, 3, 3}}, {2, {8, 2, 2}}}) {
        cluster<wants> c({12});
        c.set_tenants(weighing({weight, 1}));
        c.submit({.least = 1, .most = 12, .tenant = 0});
        for (int i = 0; i < 2; ++i) c.submit({.least = 1, .most = 12, .tenant = 1});
        for (std::size_t row = 0; row < 3; ++row) request(c, row, 10);
        CHECK(c.decide() == expected);
        request(c, 0, 2);  // what it does not want goes to the others
        CHECK(c.decide() == counts{2, 5, 5});
        CHECK(c.fault.empty());
    }
}

TEST_CASE("max_min reads requests only with heed_wants", "[wants][max_min]") {
    for (bool const heeds : {false, true}) {
        cluster<max_min> c({8}, max_min({.heed_wants = heeds}));
        for (int i = 0; i < 2; ++i) c.submit({.least = 1, .most = 8});
        request(c, 0, 1);
        CHECK(c.decide() == (heeds ? counts{1, 7} : counts{4, 4}));
    }
}

namespace {

/// Random requests, also beyond the bounds.
void request_at_random(ration::snapshot_store& store, std::uint64_t tick) {
    auto const requested = must(store.find<std::int64_t>("jobs/requested.gpu"));
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row)
        store[requested][row] = static_cast<std::int64_t>((tick / 7 + 3 * row) % 11) - 1;
}

}  // namespace

TEST_CASE("wants: feasible answers in any cluster, and the laws of policies", "[wants][laws]") {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, wants({.round = 100}), false) == "");
        auto const kept = ration::testing::policy_laws([] { return max_min({.round = 3, .heed_wants = true}); },
                                                       {.seed = seed,
                                                        .ticks = 300,
                                                        .most = {.jobs = 8, .nodes = 2},
                                                        .fill = request_at_random,
                                                        .allocations = allocations});
        INFO(std::string(kept ? "" : kept.failure().operation)
             << std::string(kept ? "" : kept.failure().subject.view()));
        CHECK(kept);
    }
}
