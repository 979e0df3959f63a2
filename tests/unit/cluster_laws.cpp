// SPDX-License-Identifier: BSL-1.0
// The laws of Policy, kept by the policies that share a cluster.
#include <string>

#include <ration/policies/afs.hpp>
#include <ration/policies/drf.hpp>
#include <ration/policies/fifo.hpp>
#include <ration/policies/flowcon.hpp>
#include <ration/policies/gang.hpp>
#include <ration/policies/gittins.hpp>
#include <ration/policies/good_enough.hpp>
#include <ration/policies/las.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policies/optimus.hpp>
#include <ration/policies/pack.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/sia.hpp>
#include <ration/policies/sjf.hpp>
#include <ration/policies/spread.hpp>
#include <ration/policies/srtf.hpp>
#include <ration/testing/policy_laws.hpp>

#include "host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace ration::policies;
using unit::must;
using unit::table_id;

namespace {

/// The columns of a cluster of one node: what a job asks for, how it scales, what it holds where.
void fill(ration::snapshot_store& store, std::uint64_t) {
    constexpr std::uint32_t width = 9;
    auto const request = must(store.declare<std::int64_t>("jobs/request.gpu"));
    auto const attained = must(store.declare<double>("jobs/attained")),
               length = must(store.declare<double>("jobs/total_steps"));
    auto const rate = must(store.declare<double>("jobs/nominal_steps_per_second"));
    auto const goodput = must(store.declare<double>("jobs/goodput", width)),
               fixed = must(store.declare<double>("jobs/goodput.fixed", width));
    auto const batch = must(store.declare<std::int64_t>("jobs/batch", width));
    must(store.declare<std::uint32_t>("jobs/restarts"));
    must(store.declare<std::uint32_t>("nodes/type"));
    auto const least = must(store.find<std::int64_t>("jobs/min.gpu")),
               most = must(store.find<std::int64_t>("jobs/max.gpu"));
    auto const held = must(store.find<std::int64_t>("jobs/held.gpu"));
    auto const id = must(store.find<std::uint64_t>("jobs/id")), step = must(store.find<std::uint64_t>("jobs/step"));
    auto const owner = must(store.declare<std::uint64_t>("held/job"));
    auto const node = must(store.declare<std::uint32_t>("held/node")),
               resource = must(store.declare<std::uint32_t>("held/resource"));
    auto const amount = must(store.declare<std::int64_t>("held/amount"));
    must(store.resize(table_id::held, 8));
    must(store.resize(table_id::held, 0));
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
        store[request][row] =
            ration::within(static_cast<std::int64_t>(1 + store[id][row] % 4), {store[least][row], store[most][row]});
        store[attained][row] = static_cast<double>(store[step][row]);
        store[length][row] = static_cast<double>(10 * (store[id][row] % 50));
        store[rate][row] = 1;
        for (std::size_t k = 0; k < width; ++k) {
            store[goodput][row * width + k] = store[fixed][row * width + k] =
                static_cast<double>(k) / (1 + 0.1 * static_cast<double>(k));
            store[batch][row * width + k] = static_cast<std::int64_t>(k);
        }
        if (store[held][row] == 0) continue;
        std::size_t const entry = store.rows(table_id::held);
        must(store.resize(table_id::held, entry + 1));
        store[owner][entry] = store[id][row];
        store[node][entry] = 0;
        store[resource][entry] = static_cast<std::uint32_t>(unit::resource_id::gpu);
        store[amount][entry] = store[held][row];
    }
}

/// The same, where a node loses devices now and then and has them back later.
void fill_and_fail(ration::snapshot_store& store, std::uint64_t tick) {
    auto const capacity = must(store.find<std::int64_t>("nodes/capacity.gpu")),
               free = must(store.find<std::int64_t>("nodes/free.gpu"));
    for (std::size_t node = 0; node < store.rows(table_id::nodes); ++node) {
        std::int64_t const now = tick % 50 < 40 ? 8 : 3;
        store[free][node] += now - store[capacity][node];
        store[capacity][node] = now;
    }
    fill(store, tick);
}

/// With what lasts minutes by default lasting `seconds`, so that a trial sees it often.
template <class P>
[[nodiscard]] P hasty(double seconds) {
    if constexpr (ration::has_parameters<P>) {
        typename P::parameters p;
        if constexpr (requires { p.interval; })
            p.interval = seconds > 0 || std::is_same_v<P, flowcon> ? seconds + 1 : 0;
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
    for (auto* const host : {fill, fill_and_fail}) {
        auto const kept =
            ration::testing::policy_laws(make, {.seed = seed, .ticks = 400, .fill = host, .allocations = allocations});
        if (!kept) return std::string(kept.failure().operation) + ": " + std::string(kept.failure().subject.view());
    }
    return "";
}

}  // namespace

TEMPLATE_TEST_CASE("policies of a cluster keep the laws", "[laws]", fifo, sjf, srtf, las, gittins, max_min, drf,
                   flowcon, optimus, afs, pack, spread, gang, sia, pollux, good_enough) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        INFO("seed " << seed);
        CHECK(verdict<TestType>(seed, [] { return TestType{}; }) == "");
        CHECK(verdict<TestType>(seed, [] { return hasty<TestType>(3); }) == "");
        CHECK(verdict<TestType>(seed, [] { return hasty<TestType>(0); }) == "");
    }
}
