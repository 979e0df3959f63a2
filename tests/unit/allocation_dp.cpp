// SPDX-License-Identifier: BSL-1.0
// The allocation against every one there is, against the textbook's loop, and on large problems between the greedy one
// and the bound.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "allocation_problem.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::detail::value_table;

namespace {

/// Whole-numbered gains, so that sums are exact and ties abound; with gaps, falls and minima.
[[nodiscard]] problem small(std::mt19937& rng) {
    problem p;
    p.devices = rng() % 9;
    std::int64_t left = p.devices;
    for (std::size_t j = 0; j < 4; ++j) {
        std::int64_t const least = rng() % static_cast<unsigned>(left + 1),
                           most = least + rng() % static_cast<unsigned>(p.devices - least + 1);
        left -= least;
        std::vector<double> gains(static_cast<std::size_t>(p.devices) + 1, allocation_dp::impossible);
        for (std::int64_t k = least; k <= most; ++k)
            if (k == least || rng() % 4 != 0) gains[static_cast<std::size_t>(k)] = rng() % 6;
        p.jobs.push_back({.least = least, .most = most});
        p.gains.push_back(gains);
        if (rng() % 3 == 0) break;
    }
    return p;
}

/// Every allocation, the last job's devices varying slowest: the first of the best is the one to be found.
void search(problem const& p, std::size_t j, std::int64_t left, double sum, std::vector<std::int64_t>& now,
            double& best, std::vector<std::int64_t>& found) {
    if (j == 0) {
        if (sum > best) {
            best = sum;
            found = now;
        }
        return;
    }
    for (std::int64_t k = 0; k <= left; ++k) {
        double const gain = p.gains[j - 1][static_cast<std::size_t>(k)];
        now[j - 1] = k;
        if (k >= p.jobs[j - 1].least && k <= p.jobs[j - 1].most && gain >= 0)
            search(p, j - 1, left - k, sum + gain, now, best, found);
    }
}

/// The textbook's loop: P(j, k) = max over g of gain(j, g) + P(j - 1, k - g), with P(0, k) = 0. Ascending g and `>`: of
/// equals the fewest.
[[nodiscard]] counts textbook(problem const& p) {
    auto const width = static_cast<std::size_t>(p.devices) + 1;
    std::vector<double> best(width, 0.0);
    std::vector<counts> chosen;
    for (std::size_t j = 0; j < p.jobs.size(); ++j) {
        std::vector<double> next(width, -infinite);
        chosen.emplace_back(width, 0);
        for (std::size_t k = 0; k < width; ++k)
            for (std::int64_t g = p.jobs[j].least; g <= p.jobs[j].most && g <= static_cast<std::int64_t>(k); ++g)
                if (double const sum = p.gain(j, g) + best[k - static_cast<std::size_t>(g)];
                    p.gain(j, g) >= 0 && sum > next[k]) {
                    next[k] = sum;
                    chosen[j][k] = g;
                }
        best.swap(next);
    }
    counts given(p.jobs.size());
    for (std::size_t j = p.jobs.size(), k = width - 1; j-- > 0; k -= static_cast<std::size_t>(given[j]))
        given[j] = chosen[j][k];
    return given;
}

enum class shape { diminishing, any, groups, few_values, halves, all_alike };
constexpr shape shapes[] = {shape::diminishing, shape::any,    shape::groups,
                            shape::few_values,  shape::halves, shape::all_alike};

/// Gains in whole multiples of 2^-20, so that the textbook's sums are exact as well.
[[nodiscard]] problem large(std::mt19937& rng, std::size_t jobs, std::int64_t devices, shape like,
                            std::int64_t longest = 64) {
    problem p;
    p.devices = devices;
    std::uniform_real_distribution<double> any(0, 1);
    for (std::size_t j = 0; j < jobs; ++j) {
        std::int64_t const least = rng() % 2, most = least + rng() % static_cast<unsigned>(longest),
                           group = 1 + rng() % 8;
        double const overhead = any(rng) * 0.2, slope = any(rng);
        std::vector<double> gains(static_cast<std::size_t>(most) + 1, allocation_dp::impossible);
        for (std::int64_t k = least; k <= most; ++k) {
            auto const n = static_cast<double>(like == shape::groups ? k / group * group : k);
            double g = n / (1 + overhead * n);
            if (like == shape::any) g = any(rng) * 64;
            if (like == shape::few_values) g = rng() % 4;
            if (like == shape::halves) g = k % 2 == 0 || k == least ? n : slope;  // what loses nothing has gaps
            if (like == shape::all_alike) g = n / (1 + 0.05 * n);
            bool const gap = like != shape::diminishing && like != shape::all_alike && k > least && rng() % 8 == 0;
            gains[static_cast<std::size_t>(k)] = gap ? allocation_dp::impossible : std::floor(g * 0x1p20) * 0x1p-20;
        }
        p.jobs.push_back({.least = least, .most = most});
        p.gains.push_back(gains);
    }
    return p;
}

/// One device after the other to the job that gains most by it.
[[nodiscard]] double greedy(problem p) {
    std::int64_t left = p.devices;
    for (auto& j : p.jobs) left -= j.given = j.least;
    for (; left > 0; --left) {
        std::size_t best = p.jobs.size();
        double most = 0;
        for (std::size_t j = 0; j < p.jobs.size(); ++j) {
            if (p.jobs[j].given == p.jobs[j].most) continue;
            double const more = p.gain(j, p.jobs[j].given + 1) - p.gain(j, p.jobs[j].given);
            if (more > most) {
                most = more;
                best = j;
            }
        }
        if (best == p.jobs.size()) break;
        ++p.jobs[best].given;
    }
    return p.worth();
}

[[nodiscard]] double longest_step(problem const& p) {
    double most = 0;
    for (std::size_t j = 0; j < p.jobs.size(); ++j)
        for (double const g : p.gains[j]) most = std::max(most, g - p.gain(j, p.jobs[j].least));
    return most;
}

}  // namespace

TEST_CASE("allocation_dp: the allocation by hand", "[allocation_dp]") {
    allocation_dp dp;
    dp.reserve(3, 8, 24);
    problem p{.devices = 4, .jobs = {{1, 4, 0}, {1, 4, 0}}, .gains = {{0, 1, 1.9, 2.7, 3.4}, {0, 1, 1.5, 1.75, 1.8}}};
    CHECK(p.solve(dp).worth == 3.7);  // 2.7 + 1; 2 and 2 is 3.4
    CHECK(p.given() == counts{3, 1});
    p.gains[0][2] = allocation_dp::impossible;
    p.gains[0][3] = 2.4;
    CHECK(p.solve(dp).worth == Catch::Approx(3.4));
    p.jobs[1].least = 2;  // a minimum: of 3 and 1 the 1 is no longer enough
    p.gains[1][3] = 2;
    auto const found = p.solve(dp);
    CHECK(found.worth == 3);
    CHECK(found.bound == 3);
    CHECK(found.exact);
    CHECK(p.given() == counts{1, 3});
    problem idle{.devices = 8, .jobs = {{1, 8, 0}}, .gains = {{0, 1, 2, 2, 1, 1, 1, 1, 1}}};
    CHECK(idle.solve(dp).worth == 2);
    CHECK(idle.given() == counts{2});  // devices stay free where no job gains by them
    problem nobody{.devices = 8, .jobs = {}, .gains = {}};
    CHECK(nobody.solve(dp).worth == 0);
    problem worthless{.devices = 3, .jobs = {{0, 3, 0}, {1, 3, 0}}, .gains = {{0, 0, 0, 0}, {0, 0, 0, 0}}};
    CHECK(worthless.solve(dp).exact);
    CHECK(worthless.given() == counts{0, 1});
}

TEST_CASE("allocation_dp: a table is a set of curves", "[allocation_dp]") {
    double const values[] = {0, 1, 1.9, 2.7, 0, 1, 1.5, 1.75};
    std::vector<device_choice> jobs = {{0, 3, 0}, {0, 3, 0}};
    allocation_dp dp;
    dp.reserve(2, 4, 8);
    CHECK(dp.solve(jobs, 4, value_table{values, 4}).worth == 3.7);
    CHECK(jobs[0].given == 3);
    CHECK(jobs[1].given == 1);
}

TEST_CASE("allocation_dp: the allocation is what trying every one finds, ties included", "[allocation_dp]") {
    std::mt19937 rng(1);
    allocation_dp dp;
    dp.reserve(4, 8, 36);
    for (int round = 0; round < 40'000; ++round) {
        problem p = small(rng);
        double best = -1;
        counts now(p.jobs.size()), found;
        search(p, p.jobs.size(), p.devices, 0, now, best, found);
        auto const got = p.solve(dp);
        INFO("round " << round);
        REQUIRE(got.exact);
        REQUIRE(got.worth == best);
        REQUIRE(p.given() == found);
    }
}

TEST_CASE("allocation_dp: the allocation is the textbook's, ties included, whatever the curves look like",
          "[allocation_dp]") {
    std::mt19937 rng(2);
    allocation_dp dp, forgets;
    dp.reserve(300, 600, 300 * 65);
    forgets.reserve(300, 600, 1000);  // the curves of most jobs are asked for again
    for (int round = 0; round < 9; ++round)
        for (shape const like : shapes) {
            problem p = large(rng, 1 + rng() % 300, 300 + rng() % 301, like,
                              round % 3 == 0   ? 5
                              : round % 3 == 1 ? 65
                                               : 250);
            INFO("round " << round << ", shape " << static_cast<int>(like) << ", jobs " << p.jobs.size() << ", devices "
                          << p.devices);
            auto const found = textbook(p);
            auto const got = p.solve(dp);
            REQUIRE(p.is_sound());
            REQUIRE(got.exact);
            REQUIRE(p.given() == found);
            REQUIRE(got.worth == p.worth());
            REQUIRE(dp.solve(p.jobs, p.devices, p.curves()).worth == got.worth);  // and again
            static_cast<void>(p.solve(forgets));
            REQUIRE(p.given() == found);
        }
}

TEST_CASE("allocation_dp: of equal jobs the last gets fewest, however their sums would be rounded", "[allocation_dp]") {
    allocation_dp dp;
    dp.reserve(20, 200, 20 * 11);
    for (std::int64_t devices = 0; devices <= 200; ++devices) {
        problem p{.devices = devices, .jobs = {}, .gains = {}};
        for (int j = 0; j < 20; ++j) {
            p.jobs.push_back({.least = 0, .most = 10});
            p.gains.emplace_back();
            for (int k = 0; k <= 10; ++k) p.gains.back().push_back(k / (1 + 0.1 * k));
        }
        CHECK(p.solve(dp).exact);
        counts wanted;
        for (std::int64_t j = 0; j < 20; ++j) wanted.push_back(devices / 20 + (j < devices % 20 ? 1 : 0));
        CHECK(p.given() == wanted);
    }
}

TEST_CASE("allocation_dp: the allocation is the same in any unit", "[allocation_dp]") {
    std::mt19937 rng(3);
    allocation_dp dp;
    dp.reserve(40, 100, 40 * 65);
    for (shape const like : shapes) {
        problem p = large(rng, 40, 100, like);
        static_cast<void>(p.solve(dp));
        auto const found = p.given();
        for (int const exponent : {-900, -60, 60, 1010}) {
            problem q = p;
            q.multiply(std::ldexp(1, exponent));
            INFO("shape " << static_cast<int>(like) << ", 2^" << exponent);
            CHECK(q.solve(dp).exact);
            CHECK(q.given() == found);
        }
    }
}

TEST_CASE("allocation_dp: beside a job that is worth all but nothing more the others still count", "[allocation_dp]") {
    allocation_dp dp;
    dp.reserve(3, 4, 12);
    problem p{
        .devices = 4, .jobs = {{1, 1, 0}, {0, 3, 0}, {0, 3, 0}}, .gains = {{0, 0x1p48}, {0, 1, 2, 3}, {0, 1, 2, 3}}};
    CHECK(p.solve(dp).exact);
    CHECK(p.given() == counts{1, 3, 0});
}

TEST_CASE("allocation_dp: without additions the allocation is sound, and the best one lies between it and its bound",
          "[allocation_dp]") {
    std::mt19937 rng(4);
    allocation_dp dp;
    dp.reserve(4, 8, 36);
    int behind = 0;
    for (int round = 0; round < 20'000; ++round) {
        problem p = small(rng), q = p;
        double const best = p.solve(dp).worth;
        auto const near = dp.solve(q.jobs, q.devices, q.curves(), 0);
        INFO("round " << round);
        REQUIRE(q.is_sound());
        REQUIRE(q.is_exhausted());
        REQUIRE(near.worth == q.worth());
        REQUIRE(near.worth <= best);
        REQUIRE(best <= near.bound + 1e-9);
        if (near.exact) REQUIRE(near.worth == best);
        behind += near.worth < best;
    }
    CHECK(behind > 10);
}

TEST_CASE(
    "on large problems the allocation is at least the greedy one, and at most the bound of the near one, which is a step behind at most",
    "[allocation_dp]") {
    std::mt19937 rng(5);
    allocation_dp dp;
    dp.reserve(200, 400, 200 * 65);
    for (int round = 0; round < 20; ++round)
        for (shape const like : shapes) {
            problem p = large(rng, 1 + rng() % 200, 200 + rng() % 201, like), q = p;
            double const best = p.solve(dp).worth;
            auto const near = dp.solve(q.jobs, q.devices, q.curves(), 0);
            INFO("round " << round << ", shape " << static_cast<int>(like));
            CHECK(q.is_sound());
            CHECK(best >= greedy(p) - 1e-9);
            CHECK(best <= near.bound + 1e-9);
            CHECK(q.worth() <= best);
            CHECK(q.worth() >= near.bound - longest_step(q) - 1e-9);
            if (like == shape::diminishing) CHECK(best == Catch::Approx(greedy(p)));
            if (like == shape::diminishing || like == shape::all_alike) CHECK(near.exact);
        }
}

TEST_CASE("allocation_dp: the dynamic programme stops where it would take more additions than it may",
          "[allocation_dp]") {
    std::mt19937 rng(6);
    allocation_dp dp;
    dp.reserve(100, 300, 100 * 65);
    problem p = large(rng, 100, 300, shape::halves);
    p.devices = 299;  // odd, and all numbers that lose nothing are even
    for (std::size_t j = 0; j < p.jobs.size(); ++j) {
        p.jobs[j].least = 0;
        p.gains[j][0] = 0;
        if (p.jobs[j].most > 0) p.gains[j][1] = 0;
    }
    auto const before = dp.additions();
    auto const best = p.solve(dp);
    REQUIRE(best.exact);
    std::int64_t const needed = dp.additions() - before;
    REQUIRE(needed > 100'000);
    for (std::int64_t const some : {std::int64_t{0}, needed / 1000, needed / 100, needed / 2}) {
        auto const start = dp.additions();
        auto const near = dp.solve(p.jobs, p.devices, p.curves(), some);
        CHECK_FALSE(near.exact);
        CHECK(p.is_sound());
        CHECK(near.worth <= best.worth);
        CHECK(dp.additions() - start <= some + 65 * 301);  // it is seen after a job
    }
    CHECK(dp.solve(p.jobs, p.devices, p.curves(), 2 * needed).exact);
}

TEST_CASE("allocation_dp: with more devices than were reserved diminishing gains are still exact, others near the best",
          "[allocation_dp]") {
    std::mt19937 rng(7);
    allocation_dp enough, few, short_of;
    enough.reserve(50, 400, 50 * 65);
    few.reserve(50, 64, 50 * 65);
    short_of.reserve(50, 20, 50 * 65);
    for (shape const like : shapes) {
        problem p = large(rng, 50, 400, like);
        double const best = p.solve(enough).worth;
        auto const near = p.solve(few);
        INFO("shape " << static_cast<int>(like));
        CHECK(p.is_sound());
        CHECK(near.worth <= best);
        CHECK(near.bound >= best);
        if (near.exact) CHECK(near.worth == best);
        if (like == shape::diminishing || like == shape::all_alike) CHECK(near.exact);
        auto const cut = p.solve(short_of);  // no job gets more than 20 above its least
        CHECK_FALSE(cut.exact);
        CHECK(p.is_sound());
    }
}

TEST_CASE("allocation_dp: the allocation takes no memory but what was reserved", "[allocation_dp]") {
    std::mt19937 rng(8);
    allocation_dp dp, narrow;
    dp.reserve(100, 200, 1000);
    narrow.reserve(100, 200, 1000, 10);
    for (shape const like : shapes) {
        problem p = large(rng, 100, 200, like);
        auto const before = allocations();
        static_cast<void>(p.solve(dp));
        auto const near = p.solve(narrow);
        CHECK(allocations() == before);
        CHECK(p.is_sound());
        if (near.exact) CHECK(near.worth == p.solve(dp).worth);
    }
}
