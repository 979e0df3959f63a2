// SPDX-License-Identifier: BSL-1.0
// The duty cycle against a simulated job: exact time, no processes.
#include <algorithm>
#include <vector>

#include <ration/process/detail/budget.hpp>

#include "support/catch.hpp"

using ration::millicores;
using ration::milliseconds;
using ration::nanoseconds;
using ration::process::budget;

namespace {

/// A job that computes with `threads` threads whenever it may, and a host that comes `late` after each appointment.
struct simulation {
    budget meter;
    std::int64_t threads = 1;
    nanoseconds late{};
    nanoseconds time{}, used{};
    bool running = true;
    std::int64_t probes = 0;
    nanoseconds longest_stop{}, stopped_at{};

    void run_until(nanoseconds end) {
        while (time < end) {
            auto const reply = meter.step(time, used);
            ++probes;
            if (running && !reply.run)
                stopped_at = time;
            else if (!running && reply.run)
                longest_stop = std::max(longest_stop, time - stopped_at);
            running = reply.run;
            nanoseconds const next = std::min(std::max(reply.next, time + nanoseconds{1}) + late, end);
            used.count += running ? (next - time).count * threads : 0;
            time = next;
        }
    }
};

double share_of(simulation& s, nanoseconds length) {
    nanoseconds const begin = s.time, used = s.used;
    s.run_until(begin + length);
    return static_cast<double>((s.used - used).count) / static_cast<double>(length.count);
}

}  // namespace

TEST_CASE("a busy job gets its share, whatever its threads and however late its host") {
    for (std::int64_t const share : {1, 10, 100, 250, 333, 500, 750, 999, 1500, 3900}) {
        for (std::int64_t const threads : {1, 2, 4, 16}) {
            for (std::int64_t const late_us : {0, 100, 1000}) {
                simulation s{.meter = budget(millicores{share}, {}, {}), .threads = threads, .late = {late_us * 1000}};
                double const wanted = std::min<double>(static_cast<double>(share) / 1000, static_cast<double>(threads));
                double const got = share_of(s, milliseconds(20'000));
                INFO("share " << share << ", threads " << threads << ", late " << late_us << " us: " << got);
                // What is owed is forgiven beyond a second's worth, so a tiny share with many threads may get a slice
                // per second.
                double const slice = static_cast<double>(threads) * (0.0005 + static_cast<double>(late_us) * 1e-6);
                CHECK(got <= wanted + std::max(0.01 * wanted, slice) + 0.001);
                CHECK(got >= 0.97 * wanted - 0.001);
            }
        }
    }
}

TEST_CASE("over one second the share holds from the start") {
    simulation s{.meter = budget(millicores{250}, {}, {}), .threads = 2};
    for (int second = 0; second < 5; ++second)
        CHECK(share_of(s, milliseconds(1000)) == Catch::Approx(0.25).margin(0.02));
}

TEST_CASE("an idle job cannot save up a burst") {
    simulation s{.meter = budget(millicores{500}, {}, {}), .threads = 0};
    s.run_until(milliseconds(60'000));
    s.threads = 1;
    CHECK(share_of(s, milliseconds(1000)) <= 0.56);  // at most one period's budget more
}

TEST_CASE("a job that was nearly idle and wakes many threads pays back what it took") {
    simulation s{.meter = budget(millicores{500}, {}, {}), .threads = 0};
    s.run_until(milliseconds(1000));
    s.threads = 16;
    CHECK(share_of(s, milliseconds(10'000)) == Catch::Approx(0.5).margin(0.05));
}

TEST_CASE("what is owed keeps a job waiting for about a second and no longer") {
    budget meter(millicores{100}, {}, {});
    // The host slept for ten seconds while eight threads ran.
    auto const reply = meter.step(milliseconds(10'000), milliseconds(80'000));
    CHECK_FALSE(reply.run);
    nanoseconds resumed{};
    for (nanoseconds t = reply.next; resumed == nanoseconds{} && t < milliseconds(20'000);) {
        auto const next = meter.step(t, milliseconds(80'000));
        resumed = next.run ? t : nanoseconds{};
        t = next.next;
    }
    CHECK(resumed > milliseconds(10'900));
    CHECK(resumed <= milliseconds(11'200));
}

TEST_CASE("the host is asked for rarely") {
    simulation one{.meter = budget(millicores{500}, {}, {}), .threads = 1};
    one.run_until(milliseconds(10'000));
    CHECK(one.probes <= 10 * 60);  // per second: a stop and a start for each period, and the looks between
    simulation idle{.meter = budget(millicores{500}, {}, {}), .threads = 0};
    idle.run_until(milliseconds(10'000));
    CHECK(idle.probes <= 10 * 60);
}

TEST_CASE("a smaller share counts what this period has used already") {
    budget meter(millicores{800}, {}, {});
    CHECK(meter.step(milliseconds(40), milliseconds(40)).run);
    meter.change(millicores{200});
    auto const reply = meter.step(milliseconds(41), milliseconds(40));
    CHECK_FALSE(reply.run);  // 40 of 20 ms used
    CHECK(meter.left() == milliseconds(-20));
    meter.change(millicores{800});
    CHECK(meter.left() == milliseconds(40));
}

TEST_CASE("a clock that runs backwards, of the job or of the host, does no harm") {
    budget meter(millicores{500}, milliseconds(1000), milliseconds(500));
    CHECK(meter.step(milliseconds(1030), milliseconds(530)).run);
    auto const reply = meter.step(milliseconds(900), milliseconds(100));
    CHECK(reply.run);
    CHECK(meter.left() == milliseconds(20));
    CHECK(reply.next <= milliseconds(1100));
}
