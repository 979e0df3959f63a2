// SPDX-License-Identifier: BSL-1.0
// TRADL in a closed loop with a machine that shares itself out as the kernel does: what the rule gains, and that it
// comes to rest.
#include <string>

#include <ration/policies/tradl.hpp>

#include "asked.hpp"
#include "fluid.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::tradl;
using ration::policies::tradl_parameters;

namespace {

constexpr double whole_cpu = 84'000;  // divides by n, n+1 and 2n for every n of these tests

/// One tick a second; what is granted now is the use of the next.
struct loop {
    asked<tradl> a;
    std::vector<fluid_job> jobs;
    int second = 0;

    explicit loop(std::vector<double> const& demands, tradl_parameters const& p = {}) : a(demands.size(), tradl(p)) {
        a.on.set_capacity(resource_id::cpu, static_cast<std::int64_t>(whole_cpu));
        for (double const d : demands) jobs.push_back({.demand = d});
        share_out(jobs);
    }

    void arrive(double demand) {
        a.add_job(a.on.store[a.on.columns.id][jobs.size() - 1] + 1);
        jobs.push_back({.demand = demand});
        share_out(jobs);
    }

    /// Lets a second pass; returns the limits as a line of text, to be compared with other seconds'.
    std::string tick() {
        for (std::size_t row = 0; row < jobs.size(); ++row) a.use(row, jobs[row].use * whole_cpu);
        std::string reply;
        for (auto const& g : a.decide(second++)) {
            jobs[g.job].limit = g.amount == unlimited ? 1 : static_cast<double>(g.amount) / whole_cpu;
            reply += std::to_string(g.amount) + '/' + std::to_string(g.reason) + ' ';
        }
        share_out(jobs);
        return reply;
    }

    /// How many times the limits change within this number of seconds.
    int changes(int seconds) {
        int count = 0;
        auto last = tick();
        for (int i = 1; i < seconds; ++i) {
            auto now = tick();
            count += now != last;
            last = now;
        }
        return count;
    }
};

/// What throttling k of n equal jobs does for each of the others: 1 for as fast as before.
[[nodiscard]] double speed_up(double n, double k, double limit) { return n * (1 - k * limit) / (n - k); }

}  // namespace

TEST_CASE("tradl: the fluid machine shares max-min fairly", "[fluid]") {
    std::vector<fluid_job> jobs{{.demand = 1}, {.demand = 0.1}, {.demand = 1, .limit = 0.2}, {.demand = 1}};
    share_out(jobs);
    CHECK(jobs[1].use == Catch::Approx(0.1));
    CHECK(jobs[2].use == Catch::Approx(0.2));
    CHECK(jobs[0].use == Catch::Approx(0.35));
    CHECK(jobs[3].use == Catch::Approx(0.35));
    CHECK(total_use(jobs) == Catch::Approx(1));
}

TEST_CASE("tradl: the weak branch speeds the others up as the formula says", "[tradl][loop]") {
    for (std::size_t n = 2; n <= 6; ++n)
        for (std::size_t k = 1; k < n; ++k) {
            loop l(std::vector<double>(n, 1.0));
            l.tick();
            double const before = l.jobs[n - 1].use;
            for (std::size_t row = 0; row < k; ++row) l.a.tier(row, 1);
            for (int i = 0; i < 20; ++i) l.tick();
            INFO("n = " << n << ", k = " << k);
            CHECK(l.jobs[0].use == Catch::Approx(1.0 / static_cast<double>(n + 1)));
            auto const expected =
                speed_up(static_cast<double>(n), static_cast<double>(k), 1.0 / static_cast<double>(n + 1));
            CHECK(l.jobs[n - 1].use / before == Catch::Approx(expected));
            CHECK(total_use(l.jobs) == Catch::Approx(1));
        }
}

TEST_CASE("tradl: the published numbers of both branches", "[tradl][loop]") {
    struct row {
        std::size_t n, k;
        double weak, strong;
    };
    for (auto const [n, k, weak, strong] : {row{2, 1, 1.33, 1.50}, row{3, 1, 1.125, 1.25}, row{3, 2, 1.5, 2.0},
                                            row{4, 3, 1.6, 2.5}, row{5, 4, 1.67, 3.0}}) {
        for (bool const is_strong : {false, true}) {
            double const limit = 1.0 / static_cast<double>(is_strong ? 2 * n : n + 1);
            std::vector<fluid_job> jobs(n);
            for (std::size_t i = 0; i < k; ++i) jobs[i].limit = limit;
            share_out(jobs);
            double const rate = jobs[n - 1].use * static_cast<double>(n);
            CHECK(rate == Catch::Approx(speed_up(static_cast<double>(n), static_cast<double>(k), limit)));
            CHECK(rate == Catch::Approx(is_strong ? strong : weak).epsilon(0.005));
        }
    }
    // Two jobs, weak: no more than a quarter of the time
    CHECK(1 - 1 / speed_up(2, 1, 1.0 / 3) == Catch::Approx(0.25));
}

TEST_CASE("tradl: the weak branch comes to rest", "[tradl][loop]") {
    loop l({1, 1, 1});
    l.tick();
    l.a.tier(0, 1);
    l.tick();
    CHECK(l.changes(100) == 0);
    CHECK(l.jobs[0].use == Catch::Approx(0.25));
}

TEST_CASE("tradl: the strong branch comes to rest: the limit itself pushes the use below 1/n", "[tradl][loop]") {
    loop l({1, 0.3});
    l.tick();
    CHECK(l.jobs[0].use == Catch::Approx(0.7));
    l.a.tier(0, 1);
    l.jobs[1].demand = 1;  // from now on it can use what it is left
    l.tick();
    CHECK(l.jobs[0].use == Catch::Approx(0.25));
    CHECK(l.jobs[1].use == Catch::Approx(0.75));
    CHECK(l.changes(100) == 0);
    CHECK(l.jobs[0].use == Catch::Approx(0.25));
}

TEST_CASE("tradl: noise around the fair share does not move a limit", "[tradl][loop]") {
    loop l({1, 1, 1, 1});
    l.tick();
    l.a.tier(0, 1);
    l.a.tier(1, 1);
    auto const first = l.tick();
    for (int i = 0; i < 100; ++i) {
        for (std::size_t row = 0; row < 4; ++row) l.jobs[row].use *= 1 + 0.03 * ((i + static_cast<int>(row)) % 3 - 1);
        CHECK(l.tick() == first);
    }
}

TEST_CASE("tradl: an arrival changes every limit once", "[tradl][loop]") {
    loop l({1, 1});
    l.tick();
    l.a.tier(0, 1);
    l.tick();
    CHECK(l.jobs[0].limit == Catch::Approx(1.0 / 3));
    l.arrive(1);
    l.tick();
    CHECK(l.jobs[0].limit == Catch::Approx(1.0 / 6));  // half of the machine was more than a third
    CHECK(l.changes(50) == 0);
}

TEST_CASE("tradl: a limit that nobody gains from is lifted, and tried again after a wait that doubles",
          "[tradl][loop]") {
    loop l({1, 0.2, 0.2});
    l.tick();
    l.a.tier(0, 1);
    std::vector<int> limited_from, lifted_at;
    bool was = false;
    for (int i = 0; i < 700; ++i) {
        int const now = l.second;
        l.tick();
        bool const is = l.jobs[0].limit < 1;
        if (is && !was) limited_from.push_back(now);
        if (!is && was) lifted_at.push_back(now);
        was = is;
    }
    REQUIRE(lifted_at.size() >= 8);  // the last two waits are the longest there is
    // Long enough to be measured
    for (std::size_t i = 0; i < lifted_at.size(); ++i) CHECK(lifted_at[i] - limited_from[i] == 3);
    int wait = 5;
    for (std::size_t i = 0; i + 1 < limited_from.size(); ++i, wait = std::min(wait * 2, 160))
        CHECK(limited_from[i + 1] - lifted_at[i] == wait);
    CHECK(wait == 160);
}

TEST_CASE("tradl: a new situation is tried at once, whatever the wait was", "[tradl][loop]") {
    loop l({1, 0.2, 0.2});
    l.tick();
    l.a.tier(0, 1);
    for (int i = 0; i < 100; ++i) l.tick();
    REQUIRE(l.jobs[0].limit == 1);
    l.arrive(1);  // this one can use what job 0 gives up
    l.tick();
    CHECK(l.jobs[0].limit < 1);
    CHECK(l.changes(100) == 0);
    CHECK(l.jobs[0].limit < 1);
}

TEST_CASE("tradl: where the others can use it, a limit is never lifted", "[tradl][loop]") {
    loop l({1, 1, 0.3});
    l.tick();
    l.a.tier(0, 1);
    l.tick();
    for (int i = 0; i < 300; ++i) {
        l.tick();
        REQUIRE(l.jobs[0].limit < 1);
    }
    CHECK(total_use(l.jobs) == Catch::Approx(1));
}

TEST_CASE("tradl: a machine that falls idle is free again, and full again limited", "[tradl][loop]") {
    loop l({1, 1});
    l.tick();
    l.a.tier(0, 1);
    for (int i = 0; i < 5; ++i) l.tick();
    REQUIRE(l.jobs[0].limit < 1);
    l.jobs[1].demand = 0.1;
    for (int i = 0; i < 2; ++i) l.tick();
    CHECK(l.jobs[0].limit == 1);
    CHECK(l.jobs[0].use == Catch::Approx(0.9));
    l.jobs[1].demand = 1;
    for (int i = 0; i < 6; ++i) l.tick();
    CHECK(l.jobs[0].limit < 1);
}
