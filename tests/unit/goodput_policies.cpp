// SPDX-License-Identifier: BSL-1.0
// pollux and good_enough: an exact division of devices by the worth of each job with each number of them.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include <ration/policies/good_enough.hpp>
#include <ration/policies/pollux.hpp>
#include <ration/policies/sia.hpp>

#include "cluster_random.hpp"
#include "random.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::good_enough;
using ration::policies::pollux;
using ration::policies::sia;

namespace {

/// Calls `seen` with each way to give every job from 0 to `most` of `devices` devices.
void each_division(std::size_t jobs, std::int64_t devices, std::int64_t most,
                   std::function<void(counts const&)> const& seen) {
    counts division(jobs, 0);
    auto const choose = [&](auto const& self, std::size_t j, std::int64_t left) -> void {
        if (j == jobs) return seen(division);
        for (division[j] = 0; division[j] <= left && division[j] <= most; ++division[j])
            self(self, j + 1, left - division[j]);
        division[j] = 0;
    };
    choose(choose, 0, devices);
}

/// Grows, not always by less and less.
[[nodiscard]] std::vector<double> random_goodput(rng& d) {
    std::vector<double> g{0, 0.5 + d.uniform()};
    while (g.size() <= 5) g.push_back(g.back() + d.uniform());
    return g;
}

}  // namespace

TEMPLATE_TEST_CASE("goodputs of 0 and beyond all measure leave an answer", "[pollux]", pollux, good_enough, sia) {
    double const huge = std::numeric_limits<double>::max(), tiny = std::numeric_limits<double>::denorm_min(),
                 none = std::numeric_limits<double>::quiet_NaN(), endless = std::numeric_limits<double>::infinity();
    std::vector<std::vector<double>> const curves{
        {0, 0, 0, 1},       {0, 2, 1, 1e9},  {0, 1, 1, 1e9},        {0, 0, 0, 0},
        {0, tiny, 0, huge}, {0, none, 1, 2}, {0, endless, 1, none}, {0}};
    for (std::int64_t const devices : {1, 2, 8})
        for (auto const& curve : curves) {
            cluster<TestType> c({devices});
            for (auto const& other : {curve, curves[0], curves[4]}) c.submit({.least = 1, .most = 3, .goodput = other});
            for (std::int64_t const given : c.decide()) CHECK(given <= 3);
            CHECK(c.fault.empty());
        }
}

TEST_CASE("pollux: a job that does not run on the fair share is compared with the nearest number below", "[pollux]") {
    cluster<pollux> c({4});  // the fair share is 2
    c.submit({.least = 1, .most = 3, .goodput = {0, 1, 0, 1.5}});
    c.submit({.least = 1, .most = 3, .goodput = {0, 1, 2, 3}});
    CHECK(c.decide() == counts{1, 3});
    CHECK(c.fault.empty());
}

// Devices / jobs = 2 is the fair share, so that speed-ups are goodput(k) / goodput(2).
TEST_CASE("pollux: divides so that the p-mean of the speed-ups is the largest, among all divisions", "[pollux]") {
    rng d(5);
    for (double const p : {-1.0, -3.0, 0.5, 1.0})
        for (int round = 0; round < 60; ++round) {
            cluster<pollux> c({6}, pollux({.interval = 60, .p = p}));
            std::vector<std::vector<double>> goodput;
            for (int j = 0; j < 3; ++j) {
                goodput.push_back(random_goodput(d));
                c.submit({.least = 1, .most = 5, .goodput = goodput.back()});
            }
            auto const mean = [&](counts const& division) {
                double sum = 0;
                for (std::size_t j = 0; j < 3; ++j) {
                    if (division[j] == 0 && p < 0) return 0.0;  // the limit
                    sum += division[j] == 0
                               ? 0
                               : std::pow(goodput[j][static_cast<std::size_t>(division[j])] / goodput[j][2], p);
                }
                return std::pow(sum / 3, 1 / p);
            };
            double best = 0;
            each_division(3, 6, 5, [&](counts const& division) { best = std::max(best, mean(division)); });
            CHECK(mean(c.decide()) == Catch::Approx(best).epsilon(1e-9));
            CHECK(c.fault.empty());
        }
}

TEST_CASE("pollux: runs as many jobs as it can, and those that came first", "[pollux]") {
    cluster<pollux> c({4});
    for (int j = 0; j < 6; ++j) c.submit({.least = 1, .most = 4});
    CHECK(c.decide() == counts{1, 1, 1, 1, 0, 0});
}

TEST_CASE("pollux: leaves a job what it holds unless a change is worth its penalty", "[pollux]") {
    for (double const penalty : {0.1, 0.9}) {
        cluster<pollux> c({8}, pollux({.interval = 60, .p = 1, .restart_penalty = penalty}));
        c.submit({.least = 1, .most = 8, .goodput = {0, 1, 1.9, 2.7, 3.4, 4, 4.5, 4.9, 5.2}});
        CHECK(c.decide() == counts{8});
        c.pass(60);
        c.submit({.least = 1, .most = 8, .goodput = {0, 1, 1.9, 2.7, 3.4, 4, 4.5, 4.9, 5.2}});
        // With 4 and 4 the sum is 2 less the penalty of the first: 1.9 or 1.1. With 8 and 0 it is 5.2 / 3.4 = 1.53.
        CHECK(c.decide() == (penalty < 0.4 ? counts{4, 4} : counts{8, 0}));
    }
}

TEMPLATE_TEST_CASE("pollux, good_enough, sia: divide at an arrival and at an end", "[pollux][good_enough][sia]", pollux,
                   good_enough, sia) {
    cluster<TestType> c({1});
    auto const first = c.submit({.least = 1, .most = 1});
    CHECK(c.decide() == counts{1});
    c.pass(1);
    c.submit({.least = 1, .most = 1});
    CHECK(c.decide() == counts{1, 0});
    c.end(first);
    c.pass(1);
    CHECK(c.decide() == counts{1});
    c.capacity(0) = 3;
    c.submit({.least = 1, .most = 1});
    c.pass(1);
    CHECK(c.decide() == counts{1, 1});
    CHECK(c.fault.empty());
}

TEST_CASE("pollux: without at_changes divides at its interval, and when a node fails", "[pollux]") {
    cluster<pollux> c({4, 4}, pollux({.at_changes = false}));
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{8});
    c.pass(59);
    c.submit({.least = 1, .most = 8});
    CHECK(c.decide() == counts{8, 0});
    c.pass(1);
    CHECK(c.decide() == counts{4, 4});
    c.pass(1);
    c.capacity(0) = 0;
    CHECK(c.decide() == counts{2, 2});
    CHECK(c.fault.empty());
}

TEST_CASE("pollux: a job that changes is placed on as few nodes as possible, the largest first", "[pollux]") {
    cluster<pollux> c({4, 4, 4});
    std::vector<std::uint64_t> jobs;
    for (int j = 0; j < 3; ++j) jobs.push_back(c.submit({.least = 1, .most = 4}));
    c.decide();
    for (auto const id : jobs) CHECK(c.of(id).size() == 1);
}

TEST_CASE("good_enough: places the largest first, also among jobs with hundreds of devices", "[good_enough]") {
    cluster<good_enough> c({300, 302}, good_enough(), {}, 300);
    std::vector<std::uint64_t> jobs;
    for (std::int64_t const devices : {44, 257, 300}) jobs.push_back(c.submit({.least = devices, .most = devices}));
    CHECK(c.decide() == counts{44, 257, 300});
    for (auto const id : jobs) CHECK(c.of(id).size() == 1);
    CHECK(c.fault.empty());
}

// Goodput is that of the best batch: with the batch that was asked for a job may be slower on as many devices, or not
// run at all.
TEMPLATE_TEST_CASE("pollux, good_enough, sia: grant the batch that is best with as many devices",
                   "[pollux][good_enough][sia]", pollux, good_enough, sia) {
    using batches = std::map<std::uint64_t, std::int64_t>;
    cluster<TestType> c({8});
    c.let_choose_batches();
    auto const first = c.submit({.request = 2}), second = c.submit({.request = 4});
    for (std::size_t row : {0, 1})
        for (std::int64_t k = 1; k <= 8; ++k) c.best_batch(row, k) = 100 * (static_cast<std::int64_t>(row) + 1) + k;
    CHECK(c.decide() == counts{2, 4});
    CHECK(c.batches == batches{{first, 102}, {second, 204}});
    c.pass(60);
    c.best_batch(1, 4) = 300;  // later in training larger batches pay
    CHECK(c.decide() == counts{2, 4});
    CHECK(c.batches == batches{{first, 102}, {second, 300}});
    auto const before = c.batches;
    c.best_batch(0, 2) = 200;
    c.best_batch(1, 4) = 200;
    c.store[c.of_batch().maximum][0] = 199;
    c.store[c.of_batch().minimum][1] = 201;  // the jobs do not accept it
    c.pass(60);
    c.decide();
    CHECK(c.batches == before);
    c.store[c.of_batch().maximum][0] = 0;  // it chooses its own
    c.store[c.of_batch().minimum][1] = 0;
    c.pass(60);
    c.decide();
    CHECK(c.batches == batches{{first, 102}, {second, 200}});
    CHECK(c.fault.empty());
}

// 100 and 50 steps left at one step/s a device: with k devices they come nearer by k/100 and k/50 of that a second.
TEST_CASE("good_enough: gives to whom a device brings nearest to its end", "[good_enough]") {
    cluster<good_enough> c({4});
    c.submit({.least = 1, .most = 4, .length = 100});
    c.submit({.least = 1, .most = 4, .length = 50});
    CHECK(c.decide() == counts{0, 4});
    cluster<good_enough> diminishing({4});
    std::vector<double> const goodput{0, 1, 1.4, 1.5, 1.55};
    diminishing.submit({.least = 1, .most = 4, .length = 100, .goodput = goodput});
    diminishing.submit({.least = 1, .most = 4, .length = 50, .goodput = goodput});
    CHECK(diminishing.decide() == counts{2, 2});
}

TEST_CASE("good_enough: without at_changes divides at its interval", "[good_enough]") {
    cluster<good_enough> c({2}, good_enough({.at_changes = false}));
    c.submit({.least = 1, .most = 1});
    CHECK(c.decide() == counts{1});
    c.pass(59);
    c.submit({.least = 1, .most = 1});
    CHECK(c.decide() == counts{1, 0});
    c.pass(1);
    CHECK(c.decide() == counts{1, 1});
}

TEST_CASE("good_enough: leaves a job what it holds unless a change is worth restart and penalty", "[good_enough]") {
    cluster<good_enough> c({4});
    auto const first = c.submit({.least = 1, .most = 4, .length = 100});
    CHECK(c.decide() == counts{4});
    c.pass(60);
    c.submit({.least = 1, .most = 4, .length = c.store[c.columns.remaining][0] / 1.2});  // nearer, but not by a quarter
    CHECK(c.decide() == counts{4, 0});
    c.end(first);
    CHECK(c.decide() == counts{4});
}

TEST_CASE("good_enough: lets nobody starve", "[good_enough]") {
    cluster<good_enough> c({1});
    auto const longest = c.submit({.length = 1000});
    for (int minute = 0; minute < 100'000 && c.devices_of(longest) == 0; ++minute) {
        c.submit({.length = 60});
        c.decide();
        for (std::size_t row = c.jobs(); row-- > 1;)
            if (c.devices_of(c.id_of(row)) > 0) c.end(c.id_of(row));
        while (c.jobs() > 5) c.end(c.id_of(1));
        c.pass(60);
    }
    CHECK(c.devices_of(longest) == 1);
}

TEST_CASE("pollux, good_enough: feasible answers in any cluster", "[pollux][good_enough]") {
    CHECK(trouble(31, pollux{}, false, 1, false) == "");
    CHECK(trouble(32, good_enough{}, false, 1, false) == "");
}
