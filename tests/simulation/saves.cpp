// SPDX-License-Identifier: BSL-1.0
// Intervals of checkpoints that a policy sets, and the hazard of nodes that it reads.
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "world.hpp"

using namespace simulation_test;
using sim::fault;
using sim::fault_kind;

namespace {

constexpr double usual_interval = 1000;  // seconds between two saves, unless the policy sets another interval

/// From a time on, in seconds, job 0 saves at another interval, in milliseconds.
struct wish {
    double from;
    std::int64_t interval;
};

/// Starts jobs, and sets the last wish whose time has come, where it is not in force.
[[nodiscard]] auto wishes(std::vector<wish> all) {
    return [all = std::move(all)](scripted::gpu_sample const& seen, grants& out) {
        first_fit(seen, out);
        if (seen.get<std::int64_t>("jobs/held.gpu")[0] == 0) return;
        std::int64_t wanted = 0;
        for (auto const& w : all)
            if (to_seconds(seen.tick.now) >= w.from) wanted = w.interval;
        if (seen.get<std::int64_t>("jobs/held.save.interval")[0] != wanted)
            static_cast<void>(out.set(0, 0, sim::save_interval_number, wanted));
    };
}

/// One job of 100 s, whose saves take 2 s. `crash_at`: seconds; 0 = it does not crash.
[[nodiscard]] sim::job_outcome run_job(std::vector<wish> const& all, double ticks = 10, double crash_at = 0) {
    std::vector<fault> faults;
    if (crash_at > 0) faults.push_back({.at = seconds(crash_at), .what = fault_kind::job_crashes});
    auto const o = simulate(rigid({{.length = 100}}), nodes_of(1, 1), wishes(all),
                            {.interval = seconds(ticks),
                             .stop_at_bad_grant = true,
                             .faults = faults,
                             .checkpoint = seconds(usual_interval),
                             .save = seconds(2)});
    REQUIRE(o.how == sim::ending::all_done);
    return o.jobs[0];
}

}  // namespace

TEST_CASE("an interval of saves counts from the begin of the work", "[sim][saves]") {
    CHECK(run_job({}).finished == seconds(100));
    CHECK(run_job({{10, 20'000}}).finished == seconds(108));  // saves after 20, 40, 60 and 80 s of work
    CHECK(run_job({{10, 50'000}}).finished == seconds(102));
    CHECK(run_job({{10, unlimited}}).finished == seconds(100));
}

TEST_CASE("a crash takes a job back to the last save, and its interval ends with it", "[sim][saves]") {
    auto const crashed = run_job({{10, 20'000}}, 10, 30);
    CHECK((crashed.lost_steps == 8 && crashed.lost_device_seconds == 8));  // it saved from 20 to 22 s
    // 80 s of work from 30 s on. The interval is set again at 40 s, and saves follow after 20, 40 and 60 s of work.
    CHECK(crashed.finished == seconds(30 + 80 + 6));
}

TEST_CASE("a save that a shorter interval makes overdue begins at once", "[sim][saves]") {
    std::vector<wish> const late{{30, 20'000}};
    CHECK(run_job(late).finished == seconds(108));  // saves at 30, 52, 74 and 96 s
    auto const within = run_job(late, 10, 31);
    CHECK((within.lost_steps == 30 && within.lost_device_seconds == 31));
    auto const behind = run_job(late, 10, 33);
    CHECK((behind.lost_steps == 1 && behind.lost_device_seconds == 1));
}

TEST_CASE("another interval does not disturb a save that has begun", "[sim][saves]") {
    std::vector<wish> const longer{{7, 20'000}, {21, 40'000}};  // saves from 20 to 22 and from 62 to 64 s
    CHECK(run_job(longer, 7).finished == seconds(104));
    CHECK(run_job(longer, 7, 63.5).lost_steps == 40);
    CHECK(run_job(longer, 7, 64.5).lost_steps == 0.5);
}

TEST_CASE("without its own interval a job saves at that of the run", "[sim][saves]") {
    std::vector<wish> const once{{10, 20'000}, {30, 0}};
    CHECK(run_job(once).finished == seconds(102));
    CHECK(run_job(once, 10, 90).lost_steps == 68);  // since 22 s
}

TEST_CASE("nodes/hazard is that of the servers at their age, which begins again with a new server", "[sim][saves]") {
    auto const servers = *sim::find_transient_servers("K80", "us-east1");
    std::vector<double> seen;
    auto const rule = [&](scripted::gpu_sample const& sample, grants& out) {
        first_fit(sample, out);
        seen.push_back(sample.get<double>("nodes/hazard")[0]);
    };
    std::vector<fault> const faults{{.at = seconds(4500), .what = fault_kind::node_lost},
                                    {.at = seconds(5300), .what = fault_kind::node_back}};
    auto const o =
        simulate(rigid({{.length = 9000}}), nodes_of(1, 1), rule,
                 {.interval = seconds(1800), .faults = faults, .rates = {.loss_every = 1e5, .lifetime = servers}});
    REQUIRE(o.how == sim::ending::all_done);
    double const quiet = 1e-5, young = quiet + 14 / (3600 * (30 - 7.0));
    // Ticks at 0, 1800, 3600, the loss, 5400 (but the return comes first), and every half hour
    REQUIRE(seen.size() >= 8);
    auto const is = [&](std::size_t tick, double hazard) { return std::abs(seen[tick] - hazard) < 1e-12; };
    CHECK((is(0, young) && is(1, young) && is(2, quiet) && is(3, quiet)));
    CHECK((is(4, young) && is(5, young) && is(6, young) && is(7, quiet)));
}

TEST_CASE("the hazard of measured servers adds up to the part that is revoked", "[sim][saves]") {
    for (auto const& servers : sim::transient_servers) {
        double alive = servers.servers;
        for (std::size_t h = 0; h < sim::server_lifetime::hours; ++h) {
            double const rate = servers.hazard(3600 * (static_cast<double>(h) + 0.5));
            double const gone = servers.revoked[h] - (h == 0 ? 0.0 : servers.revoked[h - 1]);
            CHECK(std::abs(rate * 3600 * (alive - gone / 2) - gone) < 1e-9);
            alive -= gone;
        }
        CHECK(servers.hazard(-1) == servers.hazard(0));
        CHECK(servers.hazard(1e9) == servers.hazard(86399));
    }
}
