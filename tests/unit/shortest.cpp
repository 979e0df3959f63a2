// SPDX-License-Identifier: BSL-1.0
// sjf and srtf: the shortest first, without and with preemption.
#include <limits>

#include <ration/policies/sjf.hpp>
#include <ration/policies/srtf.hpp>

#include "cluster_random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::job_measure;
using ration::policies::sjf;
using ration::policies::srtf;

TEST_CASE("sjf: starts the shortest job first and stops nobody", "[sjf]") {
    cluster<sjf> c({4});
    c.submit({.request = 4, .length = 1000});
    CHECK(c.decide() == counts{4});
    c.submit({.request = 4, .length = 50});
    c.submit({.request = 4, .length = 40, .rate = 0.5});  // 80 s
    CHECK(c.decide() == counts{4, 0, 0});
    c.end(1);
    CHECK(c.decide() == counts{4, 0});
}

TEST_CASE("sjf: lets longer jobs pass one that does not fit, unless told otherwise", "[sjf]") {
    cluster<sjf> lenient({4}), strict({4}, sjf({.backfill = false}));
    for (auto* c : {&lenient, &strict}) {
        c->submit({.request = 3, .length = 10});
        c->submit({.request = 2, .length = 20});
        c->submit({.request = 1, .length = 30});
    }
    CHECK(lenient.decide() == counts{3, 0, 1});
    CHECK(strict.decide() == counts{3, 0, 0});
}

TEST_CASE("sjf: by service a job counts as long as it is wide", "[sjf]") {
    cluster<sjf> by_time({4}), by_service({4}, sjf({.measure = job_measure::service}));
    for (auto* c : {&by_time, &by_service}) {
        c->submit({.request = 4, .length = 10});
        c->submit({.request = 1, .length = 30});
    }
    CHECK(by_time.decide() == counts{4, 0});
    CHECK(by_service.decide() == counts{0, 1});
}

TEST_CASE("sjf, srtf: a job of unknown length comes last, of equals the first submitted", "[sjf][srtf]") {
    double const unknown = std::numeric_limits<double>::quiet_NaN();
    cluster<sjf> a({1});
    cluster<srtf> b({1});
    for (double const length : {unknown, 70.0, 70.0}) {
        a.submit({.length = length});
        b.submit({.length = length});
    }
    CHECK(a.decide() == counts{0, 1, 0});
    CHECK(b.decide() == counts{0, 1, 0});
}

TEST_CASE("srtf: with unknown = first a job of unknown length stops others, until its length is known", "[srtf]") {
    double const unknown = std::numeric_limits<double>::quiet_NaN();
    cluster<srtf> c({1}, srtf({.unknown = ration::policies::unknown_length::first}));
    c.submit({.length = 70});
    CHECK(c.decide() == counts{1});
    c.pass(10);
    c.submit({.length = unknown});
    c.submit({.length = unknown});
    CHECK(c.decide() == counts{0, 1, 0});
    c.pass(10);
    CHECK(c.decide() == counts{0, 1, 0});
    c.store[c.columns.remaining][1] = 80;
    CHECK(c.decide() == counts{0, 0, 1});
    c.store[c.columns.remaining][2] = 90;
    CHECK(c.decide() == counts{1, 0, 0});
}

TEST_CASE("srtf: stops the job with the most left for a shorter one", "[srtf]") {
    cluster<srtf> c({4});
    c.submit({.request = 2, .length = 100});
    c.submit({.request = 2, .length = 300});
    CHECK(c.decide() == counts{2, 2});
    c.pass(20);  // 80 and 280 are left
    c.submit({.request = 2, .length = 90});
    CHECK(c.decide() == counts{2, 0, 2});
    CHECK(c.reason_of(2) == "stopped for jobs that come before it");
    c.pass(10);
    c.submit({.request = 2, .length = 80});  // 70, 280, 80, 80: the one that is there first stays
    CHECK(c.decide() == counts{2, 0, 2, 0});
    CHECK(c.answer.empty());
    c.end(1);
    CHECK(c.decide() == counts{0, 2, 2});
    CHECK(c.fault.empty());
}

TEST_CASE("srtf: a job that does not fit lets others pass", "[srtf]") {
    cluster<srtf> c({4});
    c.submit({.request = 3, .length = 10});
    c.submit({.request = 3, .length = 20});
    c.submit({.request = 1, .length = 900});
    CHECK(c.decide() == counts{3, 0, 1});
}

TEST_CASE("srtf: by service it counts the devices", "[srtf]") {
    cluster<srtf> c({4}, srtf({.measure = job_measure::service}));
    c.submit({.request = 4, .length = 10});  // 40
    c.submit({.request = 1, .length = 39});  // 39
    c.submit({.request = 3, .length = 12});  // 36
    CHECK(c.decide() == counts{0, 1, 3});
}

TEST_CASE("sjf, srtf: feasible answers in any cluster", "[sjf][srtf]") {
    for (std::uint64_t seed = 1; seed <= random_seeds; ++seed) {
        INFO("seed " << seed);
        CHECK(trouble(seed, sjf{}, true) == "");
        CHECK(trouble(seed, sjf({.backfill = false}), true) == "");
        CHECK(trouble(seed, srtf{}, true) == "");
        CHECK(trouble(seed, srtf({.measure = job_measure::service}), true) == "");
    }
}
