// SPDX-License-Identifier: BSL-1.0
// The dynamic programme against every allocation there is, and on large problems between the greedy one and the upper bound.
#include "support/catch.hpp"

#include <random>
#include <vector>

#include <ration/policies/detail/allocation_dp.hpp>

#include "support/allocations.hpp"

using ration::policies::detail::allocation_dp;
using ration::policies::detail::device_choice;

namespace {

struct problem {
    std::int64_t devices = 0;
    std::vector<device_choice> jobs;
    std::vector<std::vector<double>> gains;  // [job][devices]

    [[nodiscard]] auto gain() const {
        return [this](std::size_t j, std::int64_t k) { return gains[j][static_cast<std::size_t>(k)]; };
    }
    [[nodiscard]] double worth() const { return allocation_dp::worth(jobs, gain()); }
    [[nodiscard]] std::vector<std::int64_t> given() const {
        std::vector<std::int64_t> all;
        for (auto const& j : jobs) all.push_back(j.given);
        return all;
    }
    [[nodiscard]] bool is_sound() const {
        std::int64_t sum = 0;
        bool sound = true;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            sum += jobs[j].given;
            sound = sound && jobs[j].given >= jobs[j].least && jobs[j].given <= jobs[j].most && gain()(j, jobs[j].given) >= 0;
        }
        return sound && sum <= devices;
    }
    /// Nobody gains by what is left over.
    [[nodiscard]] bool is_exhausted() const {
        std::int64_t left = devices;
        for (auto const& j : jobs) left -= j.given;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            for (std::int64_t k = jobs[j].given; k <= jobs[j].most && k <= jobs[j].given + left; ++k)
                if (gain()(j, k) > gain()(j, jobs[j].given)) return false;
        return true;
    }
};

/// Whole-numbered gains, so that sums are exact and ties abound; with gaps, falls and minima.
[[nodiscard]] problem small(std::mt19937& dice) {
    problem p;
    p.devices = 1 + dice() % 8;
    std::int64_t left = p.devices;
    for (std::size_t j = 0; j < 4 && left > 0; ++j) {
        std::int64_t const least = 1 + dice() % static_cast<unsigned>(left), most = least + dice() % static_cast<unsigned>(p.devices - least + 1);
        left -= least;
        std::vector<double> gains(static_cast<std::size_t>(p.devices) + 1, allocation_dp::impossible);
        for (std::int64_t k = least; k <= most; ++k)
            if (k == least || dice() % 4 != 0) gains[static_cast<std::size_t>(k)] = dice() % 6;
        p.jobs.push_back({.least = least, .most = most});
        p.gains.push_back(gains);
        if (dice() % 3 == 0) break;
    }
    return p;
}

/// Every allocation, the last job's devices varying slowest: the first of the best is the one to be found.
void search(problem const& p, std::size_t j, std::int64_t left, double sum, std::vector<std::int64_t>& now, double& best,
            std::vector<std::int64_t>& found) {
    if (j == 0) {
        if (sum > best) best = sum, found = now;
        return;
    }
    for (std::int64_t k = 1; k <= left; ++k) {
        double const gain = p.gains[j - 1][static_cast<std::size_t>(k)];
        now[j - 1] = k;
        if (k >= p.jobs[j - 1].least && k <= p.jobs[j - 1].most && gain >= 0) search(p, j - 1, left - k, sum + gain, now, best, found);
    }
}

/// Gains like speed-ups: concave, or with steps where a job needs whole groups of devices.
[[nodiscard]] problem large(std::mt19937& dice, std::size_t jobs, std::int64_t devices, bool concave) {
    problem p;
    p.devices = devices;
    std::uniform_real_distribution<double> any(0, 1);
    for (std::size_t j = 0; j < jobs; ++j) {
        std::int64_t const most = 1 + dice() % 64, group = concave ? 1 : 1 + dice() % 8;
        double const overhead = any(dice) * 0.2;
        std::vector<double> gains(static_cast<std::size_t>(most) + 1);
        for (std::int64_t k = 1; k <= most; ++k) {
            auto const used = static_cast<double>((k + group - 1) / group * group - group + 1);
            gains[static_cast<std::size_t>(k)] = used / (1 + overhead * used);
        }
        p.jobs.push_back({.least = 1, .most = most});
        p.gains.push_back(gains);
    }
    return p;
}

/// One device after the other to the job that gains most by it.
[[nodiscard]] double greedy(problem p) {
    for (auto& j : p.jobs) j.given = j.least;
    for (std::int64_t left = p.devices - static_cast<std::int64_t>(p.jobs.size()); left > 0; --left) {
        std::size_t best = p.jobs.size();
        double most = 0;
        for (std::size_t j = 0; j < p.jobs.size(); ++j) {
            if (p.jobs[j].given == p.jobs[j].most) continue;
            double const more = p.gain()(j, p.jobs[j].given + 1) - p.gain()(j, p.jobs[j].given);
            if (more > most) most = more, best = j;
        }
        if (best == p.jobs.size()) break;
        ++p.jobs[best].given;
    }
    return p.worth();
}

[[nodiscard]] double longest_step(problem const& p) {
    double most = 0;
    for (std::size_t j = 0; j < p.jobs.size(); ++j)
        for (double const g : p.gains[j]) most = std::max(most, g - p.gain()(j, p.jobs[j].least));
    return most;
}

}  // namespace

TEST_CASE("the DP by hand", "[allocation_dp]") {
    allocation_dp dp;
    dp.reserve(3, 8);
    problem p{.devices = 4, .jobs = {{1, 4, 0}, {1, 4, 0}}, .gains = {{0, 1, 1.9, 2.7, 3.4}, {0, 1, 1.5, 1.75, 1.8}}};
    CHECK(dp.exact(p.jobs, 4, p.gain()) == Catch::Approx(3.7));  // 2.7 + 1; 2 and 2 is 3.4
    CHECK(p.given() == std::vector<std::int64_t>{3, 1});
    p.gains[0][2] = allocation_dp::impossible, p.gains[0][3] = 2.4;
    CHECK(dp.exact(p.jobs, 4, p.gain()) == Catch::Approx(3.4));
    p.jobs[1].least = 2;  // a minimum: of 3 and 1 the 1 is no longer enough
    p.gains[1][3] = 2;
    CHECK(dp.exact(p.jobs, 4, p.gain()) == Catch::Approx(3.0));
    CHECK(p.given() == std::vector<std::int64_t>{1, 3});
    problem idle{.devices = 8, .jobs = {{1, 8, 0}}, .gains = {{0, 1, 2, 2, 1, 1, 1, 1, 1}}};
    CHECK(dp.exact(idle.jobs, 8, idle.gain()) == 2);
    CHECK(idle.given() == std::vector<std::int64_t>{2});  // devices stay free where nobody gains by them
    CHECK(dp.exact({}, 8, idle.gain()) == 0);
}

TEST_CASE("the DP finds what trying every allocation finds, ties included", "[allocation_dp]") {
    std::mt19937 dice(1);
    allocation_dp dp;
    dp.reserve(4, 8);
    for (int round = 0; round < 20'000; ++round) {
        problem p = small(dice);
        double best = -1;
        std::vector<std::int64_t> now(p.jobs.size()), found;
        search(p, p.jobs.size(), p.devices, 0, now, best, found);
        double const got = dp.exact(p.jobs, p.devices, p.gain());
        INFO("round " << round);
        REQUIRE(got == best);
        REQUIRE(p.given() == found);
    }
}

TEST_CASE("the priced allocation is sound, and the best one lies between it and its bound", "[allocation_dp]") {
    std::mt19937 dice(2);
    allocation_dp dp;
    dp.reserve(4, 8);
    for (int round = 0; round < 20'000; ++round) {
        problem p = small(dice), q = p;
        double const best = dp.exact(p.jobs, p.devices, p.gain()), bound = allocation_dp::priced(q.jobs, q.devices, q.gain());
        INFO("round " << round);
        REQUIRE(q.is_sound());
        REQUIRE(q.is_exhausted());
        REQUIRE(q.worth() <= best);
        REQUIRE(best <= bound + 1e-9);
    }
}

TEST_CASE("on large problems the DP is at least the greedy one, and at most the bound; the priced one is a step behind at most",
          "[allocation_dp]") {
    std::mt19937 dice(3);
    allocation_dp dp;
    dp.reserve(200, 400);
    for (int round = 0; round < 20; ++round)
        for (bool const concave : {true, false}) {
            problem p = large(dice, 1 + dice() % 200, 200 + dice() % 201, concave), q = p;
            double const best = dp.exact(p.jobs, p.devices, p.gain()), bound = allocation_dp::priced(q.jobs, q.devices, q.gain());
            INFO("round " << round << ", concave " << concave);
            CHECK(p.is_sound());
            CHECK(q.is_sound());
            CHECK(best == p.worth());  // what it says it is worth is what it is worth, to the bit
            CHECK(best >= greedy(p) - 1e-9);
            CHECK(best <= bound + 1e-9);
            CHECK(q.worth() <= best + 1e-9);
            CHECK(q.worth() >= bound - longest_step(q));
            if (concave) CHECK(best == Catch::Approx(greedy(p)));
            if (concave) CHECK(q.worth() == Catch::Approx(best));
        }
}

TEST_CASE("among equal jobs the priced allocation leaves nothing lying about", "[allocation_dp]") {
    problem p{.devices = 100, .jobs = {}, .gains = {}};
    for (int j = 0; j < 7; ++j) {
        p.jobs.push_back({.least = 1, .most = 40});
        p.gains.emplace_back(41);
        for (std::size_t k = 0; k <= 40; ++k) p.gains.back()[k] = static_cast<double>(k) / (1 + 0.05 * static_cast<double>(k));
    }
    double const bound = allocation_dp::priced(p.jobs, p.devices, p.gain());
    std::int64_t sum = 0;
    for (auto const k : p.given()) sum += k;
    CHECK(sum == 100);
    CHECK(p.worth() == Catch::Approx(bound).epsilon(1e-3));
    for (auto& gains : p.gains)  // a bend at 10: at one price all want 10, just above it all want 1
        for (std::size_t k = 0; k <= 40; ++k) gains[k] = k <= 10 ? static_cast<double>(k) : 10 + 0.5 * static_cast<double>(k - 10);
    CHECK(allocation_dp::priced(p.jobs, 50, p.gain()) == Catch::Approx(50));
    CHECK(p.worth() == Catch::Approx(50));
}

TEST_CASE("the DP says what it needs, and allocates nothing more", "[allocation_dp]") {
    allocation_dp dp;
    dp.reserve(10, 100);
    CHECK(dp.has_room(10, 100));
    CHECK(dp.has_room(20, 49));  // 20 x 50 places of 10 x 101
    CHECK_FALSE(dp.has_room(11, 100));
    CHECK_FALSE(dp.has_room(1, 101));
    dp.reserve(1000, 100);       // no more jobs than devices can have one
    CHECK(dp.has_room(100, 100));
    CHECK_FALSE(dp.has_room(101, 100));
    std::mt19937 dice(4);
    problem p = large(dice, 100, 100, false);
    CHECK(allocation_dp::steps(p.jobs, 100) >= 100 * 101);
    CHECK(allocation_dp::steps(std::vector<device_choice>{{1, 4, 0}, {3, 3, 0}}, 9) == 50);
    auto const before = allocations();
    dp.exact(p.jobs, 100, p.gain());
    allocation_dp::priced(p.jobs, 100, p.gain());
    CHECK(allocations() == before);
}
