// SPDX-License-Identifier: BSL-1.0
// wants and max_min with levels_first: the order of jobs when devices lack.
#include <cmath>
#include <cstdint>

#include <ration/policies/wants.hpp>
#include <ration/testing/policy_laws.hpp>

#include "cluster_random.hpp"
#include "numbers.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::max_min;
using ration::policies::wants;

namespace {

/// The job in this row shows these figures of its level.
template <class P>
void show_level(cluster<P>& c, std::size_t row, double met, double slack) {
    c.store[c.columns.template get<"jobs/slo.met">()][row] = met;
    c.store[c.columns.template get<"jobs/slo.slack">()][row] = slack;
}

/// A service and two other jobs of up to eight devices, on eight.
template <class P>
[[nodiscard]] cluster<P> service_and_training(P policy) {
    cluster<P> c({8}, policy);
    for (int i = 0; i < 3; ++i) c.submit({.least = 1, .most = 8});
    return c;
}

}  // namespace

TEST_CASE("levels_first: a service below its level grows at the cost of jobs without one, and keeps its devices",
          "[levels]") {
    auto c = service_and_training(max_min({.levels_first = true}));
    request(c, 0, 5);
    CHECK(c.decide() == counts{3, 3, 2});
    show_level(c, 0, 0.2, -0.4);
    CHECK(c.decide() == counts{6, 1, 1});  // without heed_wants a request is not a bound
    show_level(c, 0, 1, 0.1);
    CHECK(c.decide() == counts{6, 1, 1});  // it holds its level, and keeps what that needs
    show_level(c, 0, 0, 0);
    CHECK(c.decide() == counts{3, 3, 2});  // control: no level
    CHECK(c.fault.empty());
}

TEST_CASE("levels_first: without the parameter the columns have no effect", "[levels]") {
    auto c = service_and_training(max_min());
    show_level(c, 0, 0.2, -0.4);
    CHECK(c.decide() == counts{3, 3, 2});
    auto w = service_and_training(wants());
    show_level(w, 0, 0.2, -0.4);
    CHECK(w.decide() == counts{3, 3, 2});
}

TEST_CASE("levels_first: wants serves services below their level first, up to their requests", "[levels][wants]") {
    auto c = service_and_training(wants({.levels_first = true}));
    request(c, 0, 5);
    show_level(c, 0, 0.2, -0.4);
    CHECK(c.decide() == counts{5, 2, 1});
    show_level(c, 0, 1, 0.3);
    CHECK(c.decide() == counts{5, 2, 1});
    request(c, 0, 2);  // less load: the others get the rest
    CHECK(c.decide() == counts{2, 3, 3});
    request(c, 0, 5);  // at its level it does not grow before the others
    CHECK(c.decide() == counts{2, 3, 3});
    CHECK(c.fault.empty());
}

TEST_CASE("levels_first: an outage longer than the window costs a service no devices", "[levels]") {
    auto c = service_and_training(wants({.levels_first = true}));
    request(c, 0, 5);
    show_level(c, 0, 0.2, -0.4);
    CHECK(c.decide() == counts{5, 2, 1});
    show_level(c, 0, 0, not_a_number);  // it restarts with its new devices
    CHECK(c.decide() == counts{5, 2, 1});
}

TEST_CASE("levels_first: services share by weight, and none grows at the cost of another one's share", "[levels]") {
    for (auto const& [weight, expected] : {std::pair<double, counts>{1, {4, 3, 1}}, {3, {5, 2, 1}}}) {
        cluster<wants> c({8}, wants({.levels_first = true}));
        c.submit({.least = 1, .most = 8, .weight = weight});
        for (int i = 0; i < 2; ++i) c.submit({.least = 1, .most = 8});
        for (std::size_t row = 0; row < 2; ++row) show_level(c, row, 0, -0.5);
        CHECK(c.decide() == expected);
        show_level(c, 1, 1, 0.5);
        CHECK(c.decide() == expected);
    }
}

TEST_CASE("levels_first: with enough devices nothing changes", "[levels]") {
    for (bool const first : {false, true}) {
        cluster<wants> c({16}, wants({.levels_first = first}));
        for (int i = 0; i < 3; ++i) {
            c.submit({.least = 1, .most = 8});
            request(c, static_cast<std::size_t>(i), 4 + i);
        }
        show_level(c, 2, 0, -1);
        CHECK(c.decide() == counts{4, 5, 6});
    }
}

TEST_CASE("levels_first: no device moves from one tenant to another, and minima stay", "[levels][tenants]") {
    cluster<wants> c({12}, wants({.levels_first = true}));
    c.set_tenants(weighing({1, 1}));
    c.submit({.least = 1, .most = 12, .tenant = 0});
    c.submit({.least = 2, .most = 12, .tenant = 0});
    c.submit({.least = 1, .most = 12, .tenant = 1});
    show_level(c, 0, 0, -0.9);
    CHECK(c.decide() == counts{4, 2, 6});
    show_level(c, 0, 0, 0);
    CHECK(c.decide() == counts{3, 3, 6});
    c.submit({.least = 1, .most = 12});  // of the first tenant
    show_level(c, 3, 0, -0.9);
    CHECK(c.decide() == counts{1, 2, 6, 3});
    CHECK(c.fault.empty());
}

namespace {

/// Levels that come, hold, are lost and have no value.
void show_random_levels(ration::snapshot_store& store, std::uint64_t tick) {
    auto const met = must(store.find<double>("jobs/slo.met")), slack = must(store.find<double>("jobs/slo.slack"));
    for (std::size_t row = 0; row < store.rows(table_id::jobs); ++row) {
        std::uint64_t const at = (tick / 5 + 7 * row) % 11;
        store[met][row] = static_cast<double>(at % 3) / 2;
        store[slack][row] = at == 0 ? not_a_number : at < 4 ? 0 : static_cast<double>(at) / 7 - 1;
    }
}

}  // namespace

TEST_CASE("levels_first: feasible answers in any cluster, and the laws of policies", "[levels][laws]") {
    for (bool const by_tenant : {false, true}) {
        max_min const rule({.round = 3, .by_tenant = by_tenant, .heed_wants = true, .levels_first = true});
        CHECK(trouble(1, rule, false) == "");
        auto const kept = ration::testing::policy_laws([&] { return rule; }, {.seed = 5,
                                                                              .ticks = 300,
                                                                              .most = {.jobs = 8, .nodes = 2},
                                                                              .fill = show_random_levels,
                                                                              .allocations = allocations});
        INFO(std::string(kept ? "" : kept.failure().operation)
             << std::string(kept ? "" : kept.failure().subject.view()));
        CHECK(kept);
    }
}
