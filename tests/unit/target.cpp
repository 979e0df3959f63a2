// SPDX-License-Identifier: BSL-1.0
#include <limits>
#include <string_view>

#include <ration/target.hpp>

#include "host.hpp"
#include "numbers.hpp"
#include "random.hpp"
#include "support/catch.hpp"

using ration::direction;
using ration::errc;
using ration::target_tracker;
using ration::two_tier_target;
using unit::infinite;
using unit::must;
using unit::not_a_number;

namespace {

[[nodiscard]] two_tier_target loss(std::uint32_t mean_of = 1) {
    return must(two_tier_target::make({.acceptable = 120, .objective = 110, .mean_of = mean_of}));
}

void refused(two_tier_target::description const& d, std::string_view remedy) {
    auto const made = two_tier_target::make(d);
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::invalid_value);
    CHECK(std::string_view(made.failure().remedy).find(remedy) != std::string_view::npos);
    CHECK(made.failure().subject == d.metric);
}

}  // namespace

TEST_CASE("target_tracker: counts tiers on a metric that goes down", "[target]") {
    auto const t = loss();
    CHECK(t.metric() == "loss");
    CHECK(t.tiers() == 2);
    CHECK(t.reached(120.5) == 0);
    CHECK(t.reached(120) == 1);
    CHECK(t.reached(110.5) == 1);
    CHECK(t.reached(110) == 2);
    CHECK(t.reached(-infinite) == 2);
    CHECK(t.reached(infinite) == 0);
    CHECK(t.reached(not_a_number) == 0);
}

TEST_CASE("target_tracker: counts tiers on a metric that goes up", "[target]") {
    auto const t = must(
        two_tier_target::make({.metric = "accuracy", .improves = direction::up, .acceptable = 0.8, .objective = 0.9}));
    CHECK(t.reached(0.79) == 0);
    CHECK(t.reached(0.8) == 1);
    CHECK(t.reached(0.89) == 1);
    CHECK(t.reached(0.9) == 2);
    CHECK(t.reached(not_a_number) == 0);
}

TEST_CASE("target_tracker: either tier may be left out", "[target]") {
    auto const only_acceptable = must(two_tier_target::make({.acceptable = 10}));
    CHECK(only_acceptable.reached(11) == 0);
    CHECK(only_acceptable.reached(10) == 1);
    CHECK(only_acceptable.reached(-infinite) == 1);
    CHECK(only_acceptable.tiers() == 2);
    auto const only_objective = must(two_tier_target::make({.objective = 5}));
    CHECK(only_objective.reached(5.1) == 0);
    CHECK(only_objective.reached(5) == 2);
}

TEST_CASE("target_tracker: a target that cannot be is refused with what to write instead", "[target]") {
    refused({}, "acceptable, objective or both");
    refused({.acceptable = not_a_number}, "finite");
    refused({.objective = infinite}, "finite");
    refused({.acceptable = 1, .objective = -infinite}, "finite");
    refused({.acceptable = 1, .mean_of = 0}, "mean_of");
    refused({.acceptable = 1, .mean_of = two_tier_target::most_mean_of + 1}, "mean_of");
    refused({.acceptable = 1, .objective = 2}, "at least as hard");
    refused({.improves = direction::up, .acceptable = 2, .objective = 1}, "at least as hard");
    CHECK(two_tier_target::make({.acceptable = 1, .objective = 1}));
    CHECK(two_tier_target::make({.acceptable = 1, .mean_of = two_tier_target::most_mean_of}));
}

TEST_CASE("target_tracker: a tier is reached only on a full window", "[tracker]") {
    target_tracker t(loss(3));
    CHECK(t.see(1) == 0);
    CHECK(t.see(1) == 0);
    CHECK_FALSE(t.best());
    CHECK(*t.smoothed() == 1);
    CHECK(t.see(1) == 2);
    CHECK(*t.best() == 1);
}

TEST_CASE("target_tracker: the mean is over the newest values only", "[tracker]") {
    target_tracker t(loss(2));
    t.see(1000);
    CHECK(t.see(100) == 0);  // 550
    CHECK(t.see(130) == 1);  // 115
    CHECK(*t.smoothed() == 115);
    CHECK(t.see(90) == 2);  // 110
}

TEST_CASE("target_tracker: a report weighs as many values as it stands for", "[tracker]") {
    target_tracker t(loss(4));
    CHECK(t.see(200, 1) == 0);
    CHECK(t.see(100, 3) == 0);
    CHECK(*t.smoothed() == 125);  // (200 + 3 * 100) / 4
    CHECK(t.see(100, 1) == 2);    // the 200 has left
    CHECK(*t.smoothed() == 100);
}

TEST_CASE("target_tracker: the window keeps the report that its edge cuts through", "[tracker]") {
    target_tracker t(loss(4));
    t.see(200, 3);
    t.see(100, 2);
    CHECK(*t.smoothed() == 160);  // all five values: without the first report the window would not be full
    t.see(100, 2);
    CHECK(*t.smoothed() == 100);
}

TEST_CASE("target_tracker: one report may fill the window by itself, and no count overflows it", "[tracker]") {
    target_tracker t(loss(4));
    t.see(500, 2);
    CHECK(t.see(115, 10) == 1);
    CHECK(*t.smoothed() == 115);
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    CHECK(t.see(105, most) == 2);
    CHECK(*t.smoothed() == 105);
    CHECK(t.see(107, most) == 2);
    CHECK(*t.smoothed() == 107);
    t.see(103, 4);
    CHECK(*t.smoothed() == 103);
}

TEST_CASE("target_tracker: what is not a finite number is counted and reaches nothing", "[tracker]") {
    target_tracker t(loss(2));
    CHECK(t.see(not_a_number) == 0);
    CHECK(t.see(-infinite) == 0);
    CHECK(t.see(infinite, 3) == 0);
    CHECK(t.not_finite() == 5);
    CHECK_FALSE(t.smoothed());
    t.see(1);
    CHECK(t.see(not_a_number) == 0);  // does not fill the window
    CHECK(t.see(1) == 2);
}

TEST_CASE("target_tracker: values whose sum is not finite reach nothing and are never the best", "[tracker]") {
    target_tracker t(must(two_tier_target::make({.improves = direction::up, .acceptable = 1, .mean_of = 2})));
    t.see(1e308, 1);
    CHECK(t.see(1e308, 1) == 0);
    CHECK_FALSE(t.best());
    t.see(1, 2);
    CHECK(t.tier() == 1);
    CHECK(*t.best() == 1);
}

TEST_CASE("target_tracker: a report of no values is none", "[tracker]") {
    target_tracker t(loss());
    CHECK(t.see(1, 0) == 0);
    CHECK_FALSE(t.smoothed());
    CHECK(t.not_finite() == 0);
}

TEST_CASE("target_tracker: a tier once reached is never lost", "[tracker]") {
    target_tracker t(loss());
    CHECK(t.see(119) == 1);
    CHECK(t.see(500) == 1);
    CHECK(t.tier() == 1);
    CHECK(t.see(105) == 2);
    CHECK(t.see(119) == 2);
}

TEST_CASE("target_tracker: the best value is the best smoothed one", "[tracker]") {
    target_tracker down(loss(2));
    for (double const v : {300.0, 100.0, 400.0, 50.0}) down.see(v);
    CHECK(*down.best() == 200);
    target_tracker up(must(two_tier_target::make({.improves = direction::up, .acceptable = 1})));
    for (double const v : {0.2, 0.7, 0.1}) up.see(v);
    CHECK(*up.best() == 0.7);
}

TEST_CASE("target_tracker: a restart forgets the window and keeps the tiers", "[tracker]") {
    target_tracker t(loss(2));
    t.see(115);
    t.see(115);
    REQUIRE(t.tier() == 1);
    REQUIRE(t.see(109) == 1);
    t.clear_window();
    CHECK_FALSE(t.smoothed());
    CHECK(t.see(100) == 1);  // with the 109 from before it would be 2
    CHECK(t.see(100) == 2);
}

TEST_CASE("target_tracker: the window agrees with a slow one that keeps every value", "[tracker]") {
    unit::rng random(12345);
    for (std::uint32_t mean_of = 1; mean_of <= 9; ++mean_of) {
        target_tracker t(loss(mean_of));
        std::vector<std::pair<double, std::uint64_t>> all;
        for (int i = 0; i < 300; ++i) {
            all.emplace_back(static_cast<double>(random.below(1000)), 1 + random.below(12));
            t.see(all.back().first, all.back().second);
            double sum = 0;
            std::uint64_t values = 0;
            for (std::size_t k = all.size(); k-- > 0 && values < mean_of;) {
                auto const count = std::min<std::uint64_t>(all[k].second, mean_of);
                sum += all[k].first * static_cast<double>(count);
                values += count;
            }
            REQUIRE(*t.smoothed() == Catch::Approx(sum / static_cast<double>(values)));
        }
    }
}
