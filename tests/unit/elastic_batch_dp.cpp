// SPDX-License-Identifier: BSL-1.0
// elastic_batch_dp, tick by tick: who gets how many devices, at which batch, when, and why.
#include <random>

#include <ration/testing/laws.hpp>

#include "elastic_host.hpp"
#include "numbers.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;
using ration::policies::elastic_batch_dp;
using ration::policies::elastic_batch_dp_parameters;
using ration::policies::elastic_batch_overflow;

namespace {

constexpr auto drop = elastic_batch_overflow::drop;

}  // namespace

TEST_CASE("elastic_batch_dp: the largest sum of speed-ups, each job with its batch", "[elastic]") {
    elastic_asked a(2, 4);
    a.scales(0, {0, 1, 1.9, 2.7, 3.4});
    a.scales(1, {0, 1, 1.5, 1.75, 1.8});
    a.batches(0, {0, 64, 128, 192, 256});
    a.batches(1, {0, 40, 70, 90, 100});
    CHECK(a.decide() == counts{3, 1});
    CHECK(a.granted(resource_id::batch) == counts{192, 40});
    CHECK(a.rejected.empty());
    CHECK(a.reason(0) == elastic_batch_dp::best_total);
    REQUIRE(a.rows.size() == 4);
    for (auto const& g : a.rows) CHECK(g.group == 0);  // rows of one job go all or none
}

TEST_CASE("elastic_batch_dp: what nobody gains by stays free", "[elastic]") {
    elastic_asked a(2, 8);
    a.scales(0, {0, 1, 1.5, 1.5, 1.2});
    a.scales(1, {0, 1, 1});
    CHECK(a.decide() == counts{2, 1});
}

TEST_CASE("elastic_batch_dp: each job's minimum and maximum are kept", "[elastic]") {
    elastic_asked a(3, 8);
    a.scales(1, {0, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7});
    a.on.set_bounds(1, resource_id::gpu, 3, unlimited);  // a poor one, which would get 1
    a.on.set_bounds(2, resource_id::gpu, 0, 2);
    CHECK(a.decide() == counts{4, 3, 1});  // of equal totals that with the fewest for the last
    a.on.set_bounds(1, resource_id::gpu, 0, unlimited);
    a.on.set_bounds(2, resource_id::gpu, 2, 2);
    a.on.set_bounds(0, resource_id::gpu, 0, 4);
    CHECK(a.decide(1) == counts{4, 2, 2});
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: counts without a speed-up, or whose batch the job does not accept, are no choices",
          "[elastic]") {
    elastic_asked a(1, 4);
    a.scales(0, {9, 1, 2, 3, 4});
    CHECK(a.decide(0) == counts{4});
    for (double const none : {0.0, -1.0, not_a_number, infinite}) {
        a.scales(0, {9, 1, 2, 3, none});
        CHECK(a.decide(1) == counts{3});
    }
    a.scales(0, {9, 1, 2, 3, 4});
    a.on.set_bounds(0, resource_id::batch, 0, 70);
    CHECK(a.decide(2) == counts{2});
    a.on.set_bounds(0, resource_id::batch, 96, 100);
    CHECK(a.decide(3) == counts{3});
    a.batches(0, {0, 97, 98, 0, -5});
    CHECK(a.decide(4) == counts{2});
    a.scales(0, {9, 1, 0, 3, 4});
    a.batches(0, {0, 97, 98, 100, 0});  // a gap at 2
    CHECK(a.decide(5) == counts{3});
    a.on.set_capacity(resource_id::gpu, 2);
    CHECK(a.decide(6) == counts{1});
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: a job with no choice at all is told so", "[elastic]") {
    elastic_asked a(4, 4);
    a.on.set_bounds(0, resource_id::gpu, 5, 8);
    a.on.set_bounds(1, resource_id::gpu, 0, 0);
    a.scales(2, {0, 0, 0, 0, 0, 1, 1, 1, 1});
    CHECK(a.decide() == counts{0, 0, 0, 4});
    for (std::size_t row = 0; row < 3; ++row) CHECK(a.reason(row) == elastic_batch_dp::cannot_run);
    CHECK(a.granted(resource_id::batch) == counts{0, 0, 0, 128});
    elastic_asked narrow(2, 8, {.interval = 0}, 3);  // the profile ends at 2 devices; behind it begins the next job's
    for (std::size_t row : {0, 1}) narrow.on.set_bounds(row, resource_id::batch, 0, 0);
    narrow.scales(1, {9, 1, 2});
    CHECK(narrow.decide() == counts{2, 2});
}

TEST_CASE("elastic_batch_dp: a job that accepts no batch chooses its own", "[elastic]") {
    elastic_asked a(2, 4);
    a.on.set_bounds(0, resource_id::batch, 0, 0);
    a.batches(0, {});
    CHECK(a.decide() == counts{3, 1});
    CHECK(a.rows.size() == 3);  // the devices of both, and one batch
    CHECK(a.granted(resource_id::batch) == counts{0, 32});
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: only what differs from what is held is said, and why a job waits", "[elastic]") {
    elastic_asked a(2, 4);
    a.on.set_bounds(1, resource_id::gpu, 4, 4);
    CHECK(a.decide() == counts{4, 0});
    CHECK(a.decide(1) == counts{4, 0});
    REQUIRE(a.rows.size() == 1);
    CHECK(a.rows[0].job == 1);
    CHECK(a.rows[0].reason == elastic_batch_dp::waiting);
    a.on.held.set({a.on.id(0), 0, resource_id::batch, 64}, {});
    ration::show_holdings(a.on.held, a.on.store, a.on.columns);
    static_cast<void>(a.decide(2));
    CHECK(a.rows.size() == 2);  // its batch was another one
    CHECK(a.granted(resource_id::batch) == counts{128, 0});
}

TEST_CASE("elastic_batch_dp: nothing bounds the sum of the batches", "[elastic]") {
    constexpr std::size_t jobs = 64;
    elastic_asked a(jobs, jobs);
    for (std::size_t row = 0; row < jobs; ++row) a.batches(row, {0, ration::max_amount});
    CHECK(a.decide() == counts(jobs, 1));
    CHECK(a.granted(resource_id::batch) == counts(jobs, ration::max_amount));
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: a bound on the batch that is withdrawn counts at once", "[elastic]") {
    elastic_asked a(2, 4, {.interval = 100, .at_changes = false, .restart_penalty = 0});
    CHECK(a.decide() == counts{3, 1});
    CHECK(a.granted(resource_id::batch) == counts{96, 32});
    a.on.set_bounds(0, resource_id::batch, 0, 64);
    CHECK(a.decide(1) == counts{2, 2});
    CHECK(a.granted(resource_id::batch) == counts{64, 64});
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: first come, first served; those that are in stay in", "[elastic]") {
    elastic_asked a(3, 2);
    a.submitted(0, 30);
    a.submitted(1, 10);
    a.submitted(2, 20);
    CHECK(a.decide() == counts{0, 1, 1});
    CHECK(a.reason(0) == elastic_batch_dp::waiting);
    a.submitted(0, 5);  // older than all, but those that hold devices keep them
    CHECK(a.decide(1) == counts{0, 1, 1});
    a.leaves(1);
    CHECK(a.decide(2) == counts{1, 1});
    elastic_asked b(2, 2);  // of two jobs, one holds devices from before this policy was asked
    b.on.set_bounds(0, resource_id::gpu, 2, 2);
    b.on.set_bounds(1, resource_id::gpu, 2, 2);
    b.on.hold(1, resource_id::gpu, 2);
    ration::show_holdings(b.on.held, b.on.store, b.on.columns);
    CHECK(b.decide() == counts{0, 2});
}

TEST_CASE("elastic_batch_dp: a queued job is passed by one that fits, unless told otherwise", "[elastic]") {
    for (bool const overtake : {true, false}) {
        elastic_asked a(3, 4, {.interval = 0, .overtake = overtake});
        a.on.set_bounds(0, resource_id::gpu, 2, 2);
        a.on.set_bounds(1, resource_id::gpu, 3, 4);
        CHECK(a.decide() == (overtake ? counts{2, 0, 2} : counts{2, 0, 0}));
        a.leaves(0);
        CHECK(a.decide(1) == (overtake ? counts{3, 1} : counts{3, 1}));
    }
}

TEST_CASE("elastic_batch_dp: the dropping variant drops what does not fit on arrival, for good, and nothing else",
          "[elastic]") {
    elastic_asked a(2, 2, {.interval = 0, .overflow = drop, .overtake = false});
    CHECK(a.decide() == counts{1, 1});
    a.arrives(7);
    a.arrives(8);
    a.on.set_bounds(3, resource_id::gpu, 0, 0);
    CHECK(a.decide(1) == counts{1, 1, 0, 0});
    CHECK(a.reason(2) == elastic_batch_dp::dropped);
    CHECK(a.reason(3) == elastic_batch_dp::cannot_run);
    a.on.set_capacity(resource_id::gpu, 1);  // who is in already is not dropped when the node loses a device
    for (int second = 2; second < 5; ++second) {
        CHECK(a.decide(second) == counts{1, 0, 0, 0});
        CHECK(a.reason(1) == elastic_batch_dp::waiting);
    }
    a.on.set_capacity(resource_id::gpu, 8);
    a.arrives(9);
    CHECK(a.decide(5)[1] > 0);
    CHECK(a.granted(resource_id::gpu)[4] > 0);
    CHECK(a.granted(resource_id::gpu)[2] == 0);
    CHECK(a.reason(2) == elastic_batch_dp::dropped);
    elastic_asked b(3, 4, {.interval = 0, .overflow = drop, .overtake = false});  // no job queues behind a dropped one
    b.on.set_bounds(0, resource_id::gpu, 3, 3);
    b.on.set_bounds(1, resource_id::gpu, 3, 3);
    CHECK(b.decide() == counts{3, 0, 1});
}

TEST_CASE("elastic_batch_dp: an arrival is let in exactly when the optimiser, run with it, has a solution",
          "[elastic]") {
    std::mt19937 rng(3);
    for (int round = 0; round < 2000; ++round) {
        std::size_t const jobs = 1 + rng() % 6;
        elastic_asked a(jobs, 1 + rng() % 8, {.interval = 0, .overflow = drop});
        std::int64_t const devices = a.on.capacity(0, resource_id::gpu);
        // [k]: 0 when the jobs so far have a solution
        std::vector<double> best(static_cast<std::size_t>(devices) + 1, 0.0);
        auto const got = [&] {
            for (std::size_t row = 0; row < jobs; ++row) {
                a.on.set_bounds(row, resource_id::gpu, rng() % 5, 1 + rng() % 8);
                for (std::size_t k = 1; k < 9; ++k) a.on.store[a.speedup][row * 9 + k] = rng() % 3;
            }
            return a.decide();
        }();
        for (std::size_t row = 0; row < jobs; ++row) {
            std::vector<double> with(best.size(), -infinite);
            for (std::int64_t k = 0; k <= devices; ++k)
                for (std::int64_t g = 1; g <= k; ++g) {
                    bool const choice = g >= a.on.store[a.on.of(resource_id::gpu).minimum][row] &&
                                        g <= a.on.store[a.on.of(resource_id::gpu).maximum][row] &&
                                        a.on.store[a.speedup][row * 9 + static_cast<std::size_t>(g)] > 0;
                    if (choice)
                        with[static_cast<std::size_t>(k)] =
                            std::max(with[static_cast<std::size_t>(k)], best[static_cast<std::size_t>(k - g)]);
                }
            INFO("round " << round << ", job " << row);
            REQUIRE((with.back() == 0) == (got[row] > 0));
            if (got[row] > 0) best = with;
        }
    }
}

TEST_CASE("elastic_batch_dp: a running job is moved only when that makes good its restart", "[elastic]") {
    auto const moved = [](elastic_batch_dp_parameters const& p, double cost, double better) {
        elastic_asked a(2, 3, p);
        a.on.store[a.on.columns.restart_cost][0] = cost;
        a.scales(0, {0, 1, 1});
        a.scales(1, {0, 1, 1});
        CHECK(a.decide() == counts{1, 1});
        a.scales(0, {0, 1, better});
        return a.decide(1) == counts{2, 1};
    };
    elastic_batch_dp_parameters p{.interval = 0, .restart_penalty = 0, .horizon = 100};
    CHECK(moved(p, 0, 1.01));
    CHECK_FALSE(moved(p, 50, 1.9));
    CHECK(moved(p, 50, 2.1));
    CHECK_FALSE(moved(p, 1000, 100));  // it takes longer to restart than it is to last
    CHECK_FALSE(moved(p, infinite, 100));
    CHECK(moved(p, not_a_number, 1.01));
    CHECK(moved(p, -50, 1.01));
    p.restart_penalty = 0.25;
    CHECK_FALSE(moved(p, 0, 1.3));
    CHECK(moved(p, 0, 1.4));
    CHECK_FALSE(moved(p, 25, 1.9));
    CHECK(moved(p, 25, 2.1));
    p.horizon = 0;  // the job's own cost does not count
    CHECK(moved(p, 1000, 1.4));
}

TEST_CASE("elastic_batch_dp: a running job that cannot stay is moved, whatever it costs", "[elastic]") {
    elastic_asked a(2, 4, {.interval = 0, .horizon = 100});
    a.scales(0, {0, 1, 1.1});
    a.scales(1, {0, 1, 1.2, 1.6});
    a.on.store[a.on.columns.restart_cost][0] = 1000;
    CHECK(a.decide() == counts{1, 3});
    a.on.set_bounds(0, resource_id::gpu, 2, 2);
    CHECK(a.decide(1) == counts{2, 2});
    CHECK(a.rejected.empty());
}

TEST_CASE("elastic_batch_dp: a job that only waits pays no restart, and equal totals move nobody", "[elastic]") {
    elastic_asked a(2, 8, {.interval = 0, .restart_penalty = 0.5});
    a.on.store[a.on.columns.restart_cost][0] = 1000;
    CHECK(a.decide() == counts{7, 1});
    a.leaves(0);
    CHECK(a.decide(1) == counts{8});  // 8 x 0.5 beats 1
    elastic_asked b(2, 4, {.interval = 0});
    CHECK(b.decide() == counts{3, 1});
    b.arrives(7);  // linear: without the penalty every division would be as good
    CHECK(b.decide(1) == counts{1, 1, 2});
    b.leaves(1);
    CHECK(b.decide(2) == counts{2, 2});
}

TEST_CASE("elastic_batch_dp: between decisions all stays as it is, until a job or the node no longer goes with it",
          "[elastic]") {
    elastic_asked a(2, 8, {.interval = 10, .at_changes = false, .restart_penalty = 0});
    a.on.set_bounds(0, resource_id::gpu, 0, 4);
    CHECK(a.decide(0) == counts{4, 4});
    auto const before = a.granted(resource_id::batch);
    a.leaves(0);
    a.arrives(7);
    a.batches(0, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(a.decide(9) == counts{4, 0});
    CHECK(a.granted(resource_id::batch)[0] == before[1]);
    CHECK(a.reason(1) == elastic_batch_dp::not_yet_considered);
    CHECK(a.decide(10) == counts{7, 1});
    CHECK(a.granted(resource_id::batch) == counts{7, 32});
    a.on.set_bounds(0, resource_id::gpu, 0, 5);
    CHECK(a.decide(11) == counts{5, 3});  // at once
    a.on.set_capacity(resource_id::gpu, 6);
    CHECK(a.decide(12) == counts{5, 1});
    a.on.set_bounds(1, resource_id::batch, 33, unlimited);
    CHECK(a.decide(13) == counts{4, 2});
    a.on.set_bounds(1, resource_id::batch, 0, unlimited);
    CHECK(a.decide(14) == counts{4, 2});  // the allocation stays good
    a.on.set_state(0, job_state::done);
    a.on.held.release(a.on.id(0));
    CHECK(a.decide(16) == counts{2});
    CHECK(a.decide(25) == counts{6});
    a.scales(1, {0, 1});
    CHECK(a.decide(26) == counts{6});  // not for the sake of one that has ended
    a.arrives(9);                      // it holds devices from elsewhere: it cannot wait to be seen
    a.on.hold(2, resource_id::gpu, 1);
    ration::show_holdings(a.on.held, a.on.store, a.on.columns);
    static_cast<void>(a.decide(27));
    CHECK(a.reason(2) != elastic_batch_dp::not_yet_considered);
}

TEST_CASE("elastic_batch_dp: an arrival, and the end of a job with devices, do not wait for the interval",
          "[elastic]") {
    elastic_asked a(1, 8, {.interval = 100, .restart_penalty = 0});
    CHECK(a.decide(0) == counts{8});
    a.arrives(7);
    CHECK(a.decide(1) == counts{7, 1});
    a.on.set_bounds(1, resource_id::gpu, 2, 3);
    CHECK(a.decide(2) == counts{6, 2});
    a.arrives(8);
    a.on.set_bounds(2, resource_id::gpu, 7, 8);
    CHECK(a.decide(3) == counts{6, 2, 0});
    a.scales(0, {0, 1});
    CHECK(a.decide(4) == counts{6, 2, 0});  // no job came or went
    a.leaves(0);                            // the row goes as well
    CHECK(a.decide(5) == counts{3, 0});
    a.leaves(1);  // a job that waits
    a.scales(0, {0, 1, 1, 1});
    CHECK(a.decide(6) == counts{3});
    a.on.set_state(0, job_state::done);
    a.on.held.release(a.on.id(0));
    a.arrives(9);
    CHECK(a.decide(7) == counts{8});
}

TEST_CASE("elastic_batch_dp: above the parameters' devices or steps the answer is near the best, and says so",
          "[elastic]") {
    for (elastic_batch_dp_parameters const& p :
         {elastic_batch_dp_parameters{.interval = 0, .devices = 5},
          elastic_batch_dp_parameters{.interval = 0, .steps = 0},
          elastic_batch_dp_parameters{.interval = 0, .devices = 6, .steps = 100}}) {
        elastic_asked a(2, 6, p);
        a.scales(0, {0, 1, 1, 1, 5, 5, 5, 5, 9});
        a.scales(1, {0, 1, 1, 3, 3, 3, 3, 3, 3});
        CHECK(a.decide() == counts{4, 1});  // one stays free
        CHECK(a.reason(0) == (p.steps == 100 ? elastic_batch_dp::best_total : elastic_batch_dp::near_best_total));
        elastic_asked b(2, 7, p);
        b.scales(0, {0, 1, 1.9, 2.7, 3.4, 4, 4.5, 4.9, 5.2});
        b.scales(1, {0, 1, 1.5, 1.75, 1.8, 1.8, 1.8, 1.8, 1.8});
        CHECK(b.decide() == counts{6, 1});
        CHECK(b.reason(0) == elastic_batch_dp::best_total);  // where gains diminish, these limits do not apply
    }
}

TEST_CASE("elastic_batch_dp: no nodes, no jobs, no space, inactive jobs", "[elastic]") {
    elastic_asked a(3, 4);
    a.on.set_state(0, job_state::done);
    a.on.set_state(1, job_state::restarting);
    CHECK(a.decide() == counts{3, 1});
    CHECK(a.rows[0].job == 1);
    for (std::size_t const space : {3, 2, 0}) {
        elastic_asked narrow(2, 4);  // a device and a batch for each
        static_cast<void>(narrow.decide(0, space));
        CHECK(narrow.reply == ration::status::capacity);
    }
    elastic_asked nobody(0, 4);
    CHECK(nobody.decide().empty());
    elastic_asked nothing(2, 0);
    CHECK(nothing.decide() == counts{0, 0});
    must(nothing.on.store.resize(table_id::nodes, 0));
    nothing.rows.assign(4, {});
    ration::grants out(nothing.rows);
    ration::tick_data const data{.number = 0, .seed = 0, .now = {}, .budget = {}, .data = nothing.on.store.view()};
    CHECK(nothing.asked.decide(ration::tick<elastic_batch_dp::inputs>(data, nothing.bound), out) == ration::status::ok);
    CHECK(out.rows().empty());
}
