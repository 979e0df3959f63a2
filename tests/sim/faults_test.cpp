// SPDX-License-Identifier: BSL-1.0
// Faults that are made up: as often and as long as the rates say, and the same from the same seed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include <ration/sim/faults.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::sim;
using Catch::Approx;

namespace {

[[nodiscard]] cluster nodes_of(std::size_t nodes, std::int64_t devices) {
    cluster c;
    c.groups.push_back({.nodes = nodes, .devices = devices});
    return c;
}

[[nodiscard]] bool same(fault const& a, fault const& b) {
    return a.at == b.at && a.what == b.what && a.node == b.node && a.device == b.device && a.speed == b.speed;
}

[[nodiscard]] bool same(std::vector<fault> const& a, std::vector<fault> const& b) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](fault const& x, fault const& y) { return same(x, y); });
}

/// Seconds that a node was there before each of its losses, and away after it.
struct stays {
    std::vector<double> there, away;
};
[[nodiscard]] stays stays_of(std::vector<fault> const& faults) {
    stays all;
    std::map<std::uint32_t, nanoseconds> since;
    for (auto const& f : faults) {
        (f.what == fault_kind::node_lost ? all.there : all.away).push_back(to_seconds(f.at - since[f.node]));
        since[f.node] = f.at;
    }
    return all;
}
[[nodiscard]] double mean(std::vector<double> const& of) {
    double sum = 0;
    for (double const v : of) sum += v;
    return sum / static_cast<double>(of.size());
}
[[nodiscard]] double part_below(std::vector<double> const& of, double limit) {
    return static_cast<double>(std::count_if(of.begin(), of.end(), [&](double v) { return v < limit; })) /
           static_cast<double>(of.size());
}

constexpr fault_rates everything{
    .loss_every = 50'000, .lifetime = transient_servers[1], .crash_every = 90'000, .slow_every = 30'000};

}  // namespace

TEST_CASE("faults: the same seed gives the same, another seed, node or horizon does not mix them up", "[faults]") {
    auto const one = make_faults(everything, nodes_of(6, 4), 3, seconds(500'000));
    CHECK(same(one, make_faults(everything, nodes_of(6, 4), 3, seconds(500'000))));
    CHECK_FALSE(same(one, make_faults(everything, nodes_of(6, 4), 4, seconds(500'000))));
    auto const only = [](std::vector<fault> all, auto keep) {
        std::erase_if(all, [&](fault const& f) { return !keep(f); });
        return all;
    };
    auto const fewer = make_faults(everything, nodes_of(5, 4), 3, seconds(500'000));
    CHECK(same(fewer, only(one, [](fault const& f) { return f.node < 5; })));
    auto const crashes = make_faults({.crash_every = everything.crash_every}, nodes_of(6, 4), 3, seconds(500'000));
    CHECK(same(crashes, only(one, [](fault const& f) { return f.what == fault_kind::job_crashes; })));
    CHECK(make_faults({}, nodes_of(6, 4), 3, seconds(500'000)).empty());
    CHECK(std::is_sorted(one.begin(), one.end(), [](fault const& a, fault const& b) { return a.at < b.at; }));
}

TEST_CASE("faults: their bits are these, with every compiler", "[faults]") {
    std::uint64_t sum = 0xCBF29CE484222325u;
    for (auto const& f : make_faults(everything, nodes_of(6, 4), 3, seconds(500'000)))
        for (auto const value : {static_cast<std::uint64_t>(f.at.count), static_cast<std::uint64_t>(f.what),
                                 std::uint64_t{f.node}, std::uint64_t{f.device}})
            for (int byte = 0; byte < 8; ++byte) sum = (sum ^ (value >> (8 * byte) & 0xFF)) * 0x100000001B3u;
    CHECK(sum == 0x46D5303966CBA206u);
}

// Means over n draws are within five standard deviations of what is asked for; an exponential's is its mean over the
// root of n. The horizon cuts off stays that end after it, mostly long ones: with 200 stays of a node, the effect
// is less than a hundredth.
TEST_CASE("faults: nodes are lost and come back as often as the rates say", "[faults]") {
    auto const all = stays_of(make_faults({.loss_every = 1000, .repair = 250}, nodes_of(100, 1), 7, seconds(250'000)));
    REQUIRE(all.there.size() > 19'000);
    CHECK(all.there.size() == all.away.size());  // every loss has its return
    CHECK(mean(all.there) == Approx(1000).margin(5 * 1000 / std::sqrt(20'000.0) + 5));
    CHECK(mean(all.away) == Approx(250).margin(5 * 250 / std::sqrt(20'000.0) + 2));
    CHECK(part_below(all.there, 1000) == Approx(1 - std::exp(-1.0)).margin(0.02));
}

TEST_CASE("faults: transient servers live as long as was measured, hour by hour, and are replaced", "[faults]") {
    for (auto const& servers : transient_servers) {
        INFO(servers.gpu << ' ' << servers.region);
        auto const all =
            stays_of(make_faults({.lifetime = servers, .startup = 90}, nodes_of(200, 1), 11, seconds(100 * 86400.0)));
        REQUIRE(all.there.size() > 20'000);
        for (double const away : all.away) CHECK(away == Approx(90));
        // Five standard deviations of a part of 20 000 are at most 0.018.
        for (std::size_t h = 1; h < server_lifetime::hours; ++h)
            CHECK(part_below(all.there, 3600 * static_cast<double>(h)) ==
                  Approx(servers.revoked_within(h)).margin(0.018));
        CHECK(part_below(all.there, 86400 - 1) == Approx(servers.revoked_within(24)).margin(0.018));
        CHECK(part_below(all.there, 86400 + 1) == 1);
        CHECK(mean(all.there) == Approx(servers.mean()).margin(1200));
    }
}

TEST_CASE("faults: a replacement takes as long as was measured for its GPU, or as long as is asked for", "[faults]") {
    auto const away = [](server_lifetime const& servers, double startup) {
        return mean(
            stays_of(make_faults({.lifetime = servers, .startup = startup}, nodes_of(2, 1), 1, seconds(10 * 86400.0)))
                .away);
    };
    CHECK(away(*find_transient_servers("K80", "us-east1"), 0) == Approx(83.2));
    CHECK(away(*find_transient_servers("P100", "us-east1"), 0) == Approx(91.1));
    CHECK(away(*find_transient_servers("V100", "us-west1"), 45) == Approx(45));
}

TEST_CASE("faults: every device crashes as often as any other", "[faults]") {
    auto const all = make_faults({.crash_every = 3600}, nodes_of(4, 8), 13, seconds(1000 * 3600.0));
    std::vector<double> crashes(32);
    for (auto const& f : all) {
        REQUIRE((f.what == fault_kind::job_crashes && f.device < 8));
        ++crashes[f.node * 8 + f.device];
    }
    CHECK(static_cast<double>(all.size()) == Approx(32'000).margin(5 * std::sqrt(32'000.0)));
    for (double const count : crashes) CHECK(count == Approx(1000).margin(5 * std::sqrt(1000.0)));
}

TEST_CASE("faults: slow times are as long and as slow as asked for, and full speed follows each", "[faults]") {
    auto const all =
        make_faults({.slow_every = 3000, .slow_lasts = 1000, .slow_speed = 0.3}, nodes_of(50, 2), 17, seconds(400'000));
    std::map<std::uint32_t, fault> last;
    double slow = 0, number = 0;
    for (auto const& f : all) {
        REQUIRE(f.what == fault_kind::node_slows);
        bool const ends = last.contains(f.node) && last[f.node].speed < 1;
        CHECK(f.speed == (ends ? 1 : 0.3));
        if (ends) {
            slow += to_seconds(f.at - last[f.node].at);
            ++number;
        }
        last[f.node] = f;
    }
    REQUIRE(number > 4500);
    CHECK(slow / number == Approx(1000).margin(5 * 1000 / std::sqrt(number)));
    for (auto const& [node, f] : last) CHECK(f.speed == 1);
}
