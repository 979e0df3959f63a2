// SPDX-License-Identifier: BSL-1.0
// Levels: validation, slack, and the window of the tracker against a slow one that samples time.
#include <cmath>
#include <string_view>
#include <vector>

#include <ration/level.hpp>
#include <ration/testing/laws.hpp>

#include "host.hpp"
#include "numbers.hpp"
#include "random.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using Catch::Approx;
using ration::direction;
using ration::errc;
using ration::level_target;
using ration::level_tracker;
using ration::milliseconds;
using ration::nanoseconds;
using ration::seconds;
using unit::infinite;
using unit::must;
using unit::not_a_number;

namespace {

[[nodiscard]] level_target latency(double over = 10) {
    return must(level_target::make({.metric = "p95", .at_most = 0.2, .over = seconds(over)}));
}
[[nodiscard]] level_target rate() {
    return must(level_target::make({.metric = "rate", .at_least = 50, .over = seconds(4)}));
}

void refused(level_target::description const& d, std::string_view remedy) {
    auto const made = level_target::make(d);
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == errc::invalid_value);
    CHECK(std::string_view(made.failure().remedy).find(remedy) != std::string_view::npos);
    CHECK(made.failure().subject == d.metric);
}

}  // namespace

TEST_CASE("level_target: the bound is the direction, and the slack is relative to it", "[level]") {
    auto const down = latency();
    CHECK(down.metric() == "p95");
    CHECK(down.improves() == direction::down);
    CHECK(down.reached(0.2) == 1);
    CHECK(down.reached(0.21) == 0);
    CHECK(down.reached(-infinite) == 1);  // tier 2 is never reached
    CHECK(down.tiers() == 2);
    CHECK(down.slack(0.15) == Approx(0.25));
    CHECK(down.slack(0.3) == Approx(-0.5));
    auto const up = rate();
    CHECK(up.improves() == direction::up);
    CHECK(up.reached(50) == 1);
    CHECK(up.reached(49) == 0);
    CHECK(up.slack(60) == Approx(0.2));
    CHECK(up.slack(40) == Approx(-0.2));
    auto const negative = must(level_target::make({.metric = "reward", .at_least = -5, .over = seconds(1)}));
    CHECK(negative.slack(-4) == Approx(0.2));
    CHECK(negative.slack(-10) == Approx(-1));
}

TEST_CASE("level_target: keeps the laws of Target", "[level]") {
    constexpr double values[] = {0, 0.1, 0.2, 0.3, -1, 50, infinite, -infinite};
    CHECK(ration::testing::target_laws(latency(), values));
    CHECK(ration::testing::target_laws(rate(), values));
}

TEST_CASE("level_target: a level that cannot be is refused with the fix", "[level]") {
    refused({.over = seconds(1)}, "at_most or at_least");
    refused({.at_most = 1, .at_least = 2, .over = seconds(1)}, "at_most or at_least");
    refused({.at_most = 0, .over = seconds(1)}, "not 0");
    refused({.at_least = not_a_number, .over = seconds(1)}, "finite");
    refused({.at_most = infinite, .over = seconds(1)}, "finite");
    refused({.at_most = 1}, "window above 0");
    refused({.at_most = 1, .over = seconds(-1)}, "window above 0");
}

TEST_CASE("level_tracker: a level holds, is lost and holds again", "[level]") {
    level_tracker t(latency());
    CHECK(t.met() == 0);
    CHECK(std::isnan(t.slack()));
    CHECK_FALSE(t.met_since_first());
    t.see(0.1, seconds(100));
    CHECK(t.slack() == Approx(0.5));  // known at once
    CHECK(t.tier() == 0);             // the window is not full
    t.update(seconds(109));
    CHECK(t.met() == 1);  // of the time since the first value
    CHECK(t.tier() == 0);
    t.see(0.1, seconds(109.9));
    t.update(seconds(110));
    CHECK(t.tier() == 1);
    t.see(0.4, seconds(110));  // 0.2 on average after a third of the window
    t.update(seconds(113));
    CHECK(t.slack() == Approx((0.2 - 0.19) / 0.2));
    CHECK(t.met() == Approx(0.7));
    CHECK(t.tier() == 1);
    t.update(seconds(114));
    CHECK(t.slack() == Approx((0.2 - 0.22) / 0.2));
    CHECK(t.tier() == 0);  // lost, without a report
    t.see(0.1, seconds(115));
    t.see(0.1, seconds(124));
    t.update(seconds(124.5));
    CHECK(t.met() == Approx(0.95));
    CHECK(t.tier() == 1);
    CHECK(*t.met_since_first() == Approx(19.5 / 24.5));
}

TEST_CASE("level_tracker: without reports the last value expires, and the time counts as missed", "[level]") {
    level_tracker t(latency());
    t.see(0.1, seconds(0));
    t.update(seconds(10));
    CHECK(t.tier() == 1);
    t.update(seconds(15));
    CHECK(t.met() == Approx(0.5));
    CHECK(t.slack() == Approx(0.5));
    t.update(seconds(20));
    CHECK(t.met() == 0);
    CHECK(std::isnan(t.slack()));
    CHECK_FALSE(t.smoothed());
    CHECK(t.tier() == 0);
    CHECK(ration::has_level(t.met(), t.slack()));
    t.update(seconds(40));
    CHECK(*t.met_since_first() == Approx(0.25));
    t.see(0.1, seconds(40));
    t.update(seconds(45));
    CHECK(t.met() == Approx(0.5));
    CHECK(*t.met_since_first() == Approx(15 / 45.0));
}

TEST_CASE("level_tracker: an outage counts as missed, and has no value", "[level]") {
    level_tracker t(latency());
    t.see(0.1, seconds(0));
    t.see(0.1, seconds(5));
    t.pause(seconds(8));
    t.update(seconds(10));
    CHECK(t.met() == Approx(0.8));
    CHECK(t.slack() == Approx(0.5));
    t.see(0.3, seconds(12));  // of the next incarnation
    t.update(seconds(14));
    CHECK(t.met() == Approx(0.4));
    CHECK(t.slack() == Approx((0.2 - (4 * 0.1 + 2 * 0.3) / 6) / 0.2));
    CHECK(*t.met_since_first() == Approx(8 / 14.0));
    level_tracker before(latency());
    before.pause(seconds(1));  // before the first value
    CHECK(before.met() == 0);
    CHECK_FALSE(before.met_since_first());
}

TEST_CASE("level_tracker: a value that is not finite changes nothing", "[level]") {
    level_tracker t(rate());
    t.see(60, seconds(0));
    t.see(not_a_number, seconds(1));
    t.see(infinite, seconds(2));
    t.update(seconds(3));
    CHECK(t.not_finite() == 2);
    CHECK(*t.smoothed() == 60);
    CHECK(t.met() == 1);
    t.see(1e308, seconds(3));
    t.see(1e308, seconds(3.5));
    t.update(seconds(6.9));
    CHECK(std::isnan(t.slack()));  // the sum is infinite
    CHECK(t.met() == 1);
}

TEST_CASE("level_tracker: a time that goes back is the last one", "[level]") {
    level_tracker t(rate());
    t.see(60, seconds(10));
    t.see(40, seconds(8));
    t.update(seconds(12));
    CHECK(t.met() == 0);
    CHECK(*t.smoothed() == 40);
}

TEST_CASE("level_tracker: a process may end at the time of its first report", "[level]") {
    level_tracker t(latency());
    t.see(0.1, seconds(1));
    t.pause(seconds(1));
    CHECK(t.met() == 0);
    CHECK_FALSE(t.smoothed());
    t.update(seconds(2));
    CHECK(t.met() == 0);
    t.see(0.1, seconds(3));
    t.update(seconds(5));
    CHECK(t.met() == Approx(0.5));
}

TEST_CASE("level_tracker: a window with more reports than parts keeps each once", "[level]") {
    level_tracker t(must(level_target::make({.metric = "p95", .at_most = 0.2, .over = nanoseconds(255)})));
    for (std::int64_t at = 1; at <= 2000; ++at) t.see(at % 2 == 0 ? 0.1 : 0.3, nanoseconds(at));
    CHECK(t.met() == Approx(0.5).margin(2.0 / 128));
    CHECK(*t.smoothed() == Approx(0.2).margin(0.2 * 2 / 128));
    CHECK(*t.met_since_first() == Approx(0.5).margin(0.001));
}

TEST_CASE("level_tracker: rounding takes no mean to the other side of the level", "[level]") {
    double const worse = 0.2 * 3 / 3;  // 0.20000000000000004
    REQUIRE(worse > 0.2);
    for (auto const& [value, tier] : {std::pair(worse, 0u), {0.2, 1u}}) {
        level_tracker t(latency(1));
        for (int i = 0; i < 100; ++i) {
            t.see(value, milliseconds(97 * i + i % 7));
            CHECK((t.slack() >= 0) == (tier == 1));
            CHECK(ration::has_level(t.met(), t.slack()));
            if (i > 20) CHECK(t.tier() == tier);
        }
    }
    level_tracker negative(must(level_target::make({.metric = "reward", .at_least = -0.2, .over = seconds(1)})));
    for (int i = 0; i < 100; ++i) {
        negative.see(-worse, milliseconds(97 * i + i % 7));
        CHECK(negative.slack() < 0);
    }
}

TEST_CASE("level_tracker: jobs without a level differ from all jobs with one", "[level]") {
    CHECK_FALSE(ration::has_level(0, 0));
    level_tracker t(latency());
    CHECK(ration::has_level(t.met(), t.slack()));  // before its first value
    t.see(0.2, seconds(1));                        // exactly at the level
    CHECK(t.slack() == 0);
    CHECK(ration::has_level(t.met(), t.slack()));
    t.update(seconds(2));
    CHECK(ration::has_level(t.met(), t.slack()));
    t.see(0.4, seconds(3));
    t.update(seconds(5));
    CHECK(ration::has_level(t.met(), t.slack()));
}

TEST_CASE("level_tracker: the window agrees with a slow one that samples each millisecond", "[level]") {
    unit::rng random(4711);
    for (std::int64_t const gap : {5, 400, 2500}) {  // shorter than 1/128 of the window, and longer
        level_tracker t(latency(2));
        std::vector<double> samples;  // one for each millisecond since the first value; NaN = unknown
        std::int64_t now = 0, value_until = 0;
        double value = not_a_number;
        for (int i = 0; i < 300; ++i) {
            bool const pauses = i % 17 == 16;
            value = pauses ? not_a_number : 0.001 * static_cast<double>(random.below(400));
            value_until = now + 2000;
            pauses ? t.pause(milliseconds(now)) : t.see(value, milliseconds(now));
            for (auto const next = now + 1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(gap)));
                 now < next; ++now)
                samples.push_back(now < value_until ? value : not_a_number);
            t.update(milliseconds(now));
            double known = 0, held = 0, sum = 0;
            std::size_t const width = samples.size() < 2000 ? samples.size() : 2000;
            for (std::size_t k = samples.size() - width; k < samples.size(); ++k) {
                if (std::isnan(samples[k])) continue;
                ++known;
                held += samples[k] <= 0.2;
                sum += samples[k];
            }
            constexpr double at_the_edge = 2.0 / 128;  // of the window: reports that were averaged
            REQUIRE(std::abs(t.met() - held / static_cast<double>(width)) < at_the_edge);
            if (known > 200) REQUIRE(std::abs(*t.smoothed() - sum / known) < 0.4 * at_the_edge * 2000 / known);
        }
    }
}

TEST_CASE("level_tracker: reports do not allocate", "[level]") {
    level_tracker t(latency());
    auto const before = allocations();
    for (int i = 0; i < 20'000; ++i) t.see(0.1, milliseconds(i));
    CHECK(allocations() == before);
    CHECK(t.met() == 1);
}
