// SPDX-License-Identifier: BSL-1.0
// elastic_batch_dp under the laws of a policy, and its parameters.

#include <ration/testing/laws.hpp>

#include "elastic_host.hpp"
#include "numbers.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using ration::table_id;
using ration::policies::elastic_batch_dp;
using ration::policies::elastic_batch_dp_parameters;
using namespace unit;

namespace {

/// Profiles for the jobs of the synthetic cluster, by id and tick: gaps, falls, and batches that some jobs do not
/// accept. One job in five chooses its own batch.
void profiles(ration::snapshot_store& store, std::uint64_t tick) {
    auto const speedup = must(store.find<double>("jobs/speedup"));
    auto const batch = must(store.find<std::int64_t>("jobs/batch"));
    auto const most = must(store.find<std::int64_t>("jobs/max.batch"));
    auto const id = must(store.find<std::uint64_t>("jobs/id"));
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
        if (store[id][row] % 5 == 0) store[most][row] = 0;
        for (std::size_t k = 0; k < speedup.width; ++k) {
            std::uint64_t const die = (store[id][row] * 31 + k * 17 + tick / 40 * 7) * 0x9E3779B97F4A7C15u >> 40;
            store[speedup][row * speedup.width + k] =
                die % 7 == 0 ? 0.0 : static_cast<double>(k) / (1 + 0.01 * static_cast<double>(die % 30));
            store[batch][row * speedup.width + k] = static_cast<std::int64_t>(k * (16 + die % 64));
        }
    }
}

}  // namespace

TEST_CASE("elastic_batch_dp: keeps the laws of a policy", "[elastic]") {
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
        for (std::size_t const jobs : {3, 8, 24})
            for (auto const& p :
                 {elastic_batch_dp_parameters{.interval = 0},
                  elastic_batch_dp_parameters{
                      .interval = 7, .overflow = ration::policies::elastic_batch_overflow::drop, .heed_wants = true},
                  elastic_batch_dp_parameters{.interval = 2, .overtake = false, .devices = 3, .steps = 100}}) {
                auto const kept = ration::testing::policy_laws([&] { return elastic_batch_dp(p); },
                                                               {.seed = seed,
                                                                .ticks = 300,
                                                                .most = {.jobs = jobs, .nodes = 1},
                                                                .fill = profiles,
                                                                .allocations = allocations});
                INFO("seed " << seed << ", jobs " << jobs << ", interval " << p.interval);
                if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
            }
}

TEST_CASE("elastic_batch_dp: with heed_wants a lower request holds at once, a higher one at the interval",
          "[elastic]") {
    for (bool const heeds : {false, true}) {
        elastic_asked a(2, 8, {.interval = 30, .heed_wants = heeds});
        for (std::size_t row = 0; row < 2; ++row) a.on.set_bounds(row, resource_id::gpu, 0, 4);
        CHECK(a.decide() == counts{4, 4});
        std::int64_t const fewer = heeds ? 2 : 4;
        a.on.store[a.on.of(resource_id::gpu).requested][0] = 2;
        CHECK(a.decide(1) == counts{fewer, 4});
        a.on.store[a.on.of(resource_id::gpu).requested][0] = 4;
        CHECK(a.decide(10) == counts{fewer, 4});
        CHECK(a.decide(40) == counts{4, 4});
        CHECK(a.rejected.empty());
    }
}

TEST_CASE("elastic_batch_dp: parameters that cannot be are named with what to write instead", "[elastic]") {
    auto const reports = [](elastic_batch_dp_parameters const& p, std::string_view what) {
        return p.problem().find(what) == 0;
    };
    CHECK(elastic_batch_dp_parameters{}.problem().empty());
    CHECK(elastic_batch_dp_parameters{.interval = 0, .restart_penalty = 0, .horizon = 0, .devices = 1, .steps = 0}
              .problem()
              .empty());
    for (double const odd : {-1.0, 2e9, not_a_number}) {
        CHECK(reports({.interval = odd}, "interval"));
        CHECK(reports({.restart_penalty = odd}, "restart_penalty"));
        CHECK(reports({.horizon = odd}, "horizon"));
    }
    for (std::int64_t const devices : {0, 65537}) CHECK(reports({.devices = devices}, "devices"));
    CHECK(reports({.steps = -1}, "steps"));
}
