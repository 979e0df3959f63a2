// SPDX-License-Identifier: BSL-1.0
// The laws of Policy, kept by the policies that share a cluster.
#include <string>

#include <ration/policies/afs.hpp>
#include <ration/policies/drf.hpp>
#include <ration/policies/edf.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/flowcon.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/phase_limits.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/save_by_age.hpp>
#include <ration/policies/sia.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/policies/wants.hpp>
#include <ration/testing/policy_laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace ration::policies;
using unit::must;
using unit::table_id;

namespace {

/// A node loses devices now and then and has them back later.
void fail(ration::snapshot_store& store, std::uint64_t tick) {
    auto const capacity = must(store.find<std::int64_t>("nodes/capacity.gpu")),
               free = must(store.find<std::int64_t>("nodes/free.gpu"));
    for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node) {
        std::int64_t const now = tick % 50 < 40 ? 8 : 3;
        store[free][node] += now - store[capacity][node];
        store[capacity][node] = now;
    }
}

/// With what lasts minutes by default lasting `seconds`, so that the laws see it often.
template <class P>
[[nodiscard]] P hasty(double seconds) {
    if constexpr (ration::has_parameters<P>) {
        typename P::parameters p;
        if constexpr (requires { p.interval; })
            p.interval = seconds > 0 || std::is_same_v<P, flowcon> || std::is_same_v<P, phase_limits> ? seconds + 1 : 0;
        if constexpr (requires { p.round; }) p.round = seconds;
        if constexpr (requires { p.promote; }) {
            p.promote = seconds;
            p.first_threshold = 20;
            p.second_threshold = 200;
        }
        if constexpr (requires { p.quantum; }) p.quantum = 50;
        return P(p);
    } else {
        return P{};
    }
}

template <class P>
[[nodiscard]] std::string verdict(std::uint64_t seed, auto const& make) {
    for (auto* const host : {static_cast<decltype(&fail)>(nullptr), &fail}) {
        auto const kept =
            ration::testing::policy_laws(make, {.seed = seed, .ticks = 400, .fill = host, .allocations = allocations});
        if (!kept) return std::string(kept.failure().operation) + ": " + std::string(kept.failure().subject.view());
    }
    return "";
}

}  // namespace

TEST_CASE("srtf: keeps the laws with jobs of unknown length first", "[laws]") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
        CHECK(verdict<srtf>(seed, [] { return srtf({.unknown = ration::policies::unknown_length::first}); }) == "");
}

TEMPLATE_TEST_CASE("cluster policies: keep the laws", "[laws]", fifo, sjf, srtf, las, gittins, max_min, wants, drf,
                   flowcon, phase_limits, save_by_age, optimus, afs, edf, pack, spread, gang, sia, pollux,
                   good_enough) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        INFO("seed " << seed);
        CHECK(verdict<TestType>(seed, [] { return TestType{}; }) == "");
        CHECK(verdict<TestType>(seed, [] { return hasty<TestType>(3); }) == "");
        CHECK(verdict<TestType>(seed, [] { return hasty<TestType>(0); }) == "");
    }
}
