// SPDX-License-Identifier: BSL-1.0
// loss_delta_ratio: who gets how many devices.
#include <random>

#include <ration/testing/laws.hpp>

#include "loss_delta_host.hpp"
#include "support/allocations.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::unlimited;

TEST_CASE("loss_delta_ratio: two jobs on 4 devices, as in the paper", "[loss_delta]") {
    CHECK(shared(2, 4).two(1) == counts{2, 2});
    CHECK(shared(2, 4).two(2.9) == counts{2, 2});
    CHECK(shared(2, 4).two(3.1) == counts{3, 1});
    CHECK(shared(2, 4).two(1000) == counts{3, 1});
    CHECK(shared(2, 4).two(1 / 2.9) == counts{2, 2});
    CHECK(shared(2, 4).two(1 / 3.1) == counts{1, 3});
}

TEST_CASE("loss_delta_ratio: two jobs on 8 devices", "[loss_delta]") {
    constexpr double edges[] = {1.4, 3, 11};
    for (std::int64_t i = 0; i < 3; ++i) {
        INFO(edges[i]);
        CHECK(shared(2, 8).two(edges[i] * 0.99) == counts{4 + i, 4 - i});
        CHECK(shared(2, 8).two(edges[i] * 1.01) == counts{5 + i, 3 - i});
        CHECK(shared(2, 8).two(0.99 / edges[i]) == counts{3 - i, 5 + i});
    }
    CHECK(shared(2, 8).two(1e6) == counts{7, 1});
}

TEST_CASE("loss_delta_ratio: on the edge the job submitted first has it", "[loss_delta]") {
    shared a(2, 5);
    CHECK(a.decide() == counts{3, 2});
    shared b(2, 5);
    b.on.store[b.on.columns.get<"jobs/submitted">()][0] = 7;
    CHECK(b.decide() == counts{2, 3});
}

TEST_CASE("loss_delta_ratio: favour_large is the mirror image", "[loss_delta]") {
    for (double const ratio : {0.05, 0.25, 0.5, 2.0, 4.0, 20.0}) {
        auto p = plain();
        auto const small = shared(2, 8, p).two(ratio);
        p.direction = favour_large;
        auto const large = shared(2, 8, p).two(ratio);
        CHECK(small == counts{large[1], large[0]});
        CHECK(small != large);
    }
}

TEST_CASE("loss_delta_ratio: gamma 0 shares evenly, a large one leaves the other its minimum", "[loss_delta]") {
    auto p = plain();
    p.gamma = 0;
    CHECK(shared(2, 8, p).two(1000) == counts{4, 4});
    p.gamma = 64;
    CHECK(shared(2, 8, p).two(1.1) == counts{7, 1});
    CHECK(shared(2, 8, p).two(1e6) == counts{7, 1});
    for (auto const direction : {loss_delta_direction::favour_small, favour_large}) {  // no power overflows
        p.direction = direction;
        shared a(3, 9, p);
        a.first_windows();
        bool const small = direction == loss_delta_direction::favour_small;
        a.fall(0, small ? 1e-6 : 1);
        a.fall(1, small ? 1e-6 : 1);
        a.fall(2, small ? 1 : 1e-6);
        CHECK(a.decide() == counts{4, 4, 1});
    }
    p.direction = loss_delta_direction::favour_small;
    p.gamma = 0.5;
    CHECK(shared(2, 8, p).two(8) == counts{5, 3});  // as a ratio of 2.8 with gamma 1
}

TEST_CASE("loss_delta_ratio: epsilon bounds what a delta near 0 is worth", "[loss_delta]") {
    loss_delta_ratio_parameters p{.epsilon = 0.5, .residence = 0};
    CHECK(shared(2, 4, p).two(1000) == counts{2, 2});  // 1.5 over 0.501 is just below 3
    p.epsilon = 0.4;
    CHECK(shared(2, 4, p).two(1000) == counts{3, 1});
}

TEST_CASE("loss_delta_ratio: a job without a window weighs the mean of the others", "[loss_delta]") {
    shared a(2, 15);
    a.first_windows();
    a.fall(0, 0.25);
    a.fall(1, 1);  // weights 4 and 1
    CHECK(a.decide() == counts{11, 4});
    a.add_job(9);
    CHECK(a.decide() == counts{7, 3, 5});  // 12 devices by 4 : 1 : 2.5, beyond 1 each
}

TEST_CASE("loss_delta_ratio: a delta counts as a fraction of the job's own first one, unless told otherwise",
          "[loss_delta]") {
    auto const share = [](bool normalised) {
        auto p = plain();
        p.normalised = normalised;
        shared a(2, 4, p);
        a.begin();
        a.fall(0, 0.1);
        a.fall(1, 100);  // a classifier and a regression, both at their start
        return a.decide();
    };
    CHECK(share(true) == counts{2, 2});
    CHECK(share(false) == counts{3, 1});
}

TEST_CASE("loss_delta_ratio: minima and maxima are kept, and what one cannot take the others get", "[loss_delta]") {
    shared a(3, 9);
    a.on.set_bounds(0, resource_id::gpu, 0, 2);
    a.on.set_bounds(1, resource_id::gpu, 4, unlimited);
    CHECK(a.decide() == counts{2, 5, 2});
    a.on.set_bounds(2, resource_id::gpu, 0, 1);
    CHECK(a.decide() == counts{2, 6, 1});
    a.on.set_bounds(1, resource_id::gpu, 4, 4);
    CHECK(a.decide() == counts{2, 4, 1});  // the rest stays free
    a.on.set_bounds(1, resource_id::gpu, 9, 9);
    CHECK(a.decide() == counts{2, 0, 1});
    CHECK(a.rows[1].reason == loss_delta_ratio::waiting);
}

TEST_CASE("loss_delta_ratio: a job that the node cannot serve is told so", "[loss_delta]") {
    shared a(4, 4);
    a.on.set_bounds(0, resource_id::gpu, 5, 8);
    a.on.set_bounds(1, resource_id::gpu, 0, 0);
    a.on.set_bounds(2, resource_id::gpu, 3, 2);
    CHECK(a.decide() == counts{0, 0, 0, 4});
    for (std::size_t row = 0; row < 3; ++row) CHECK(a.rows[row].reason == loss_delta_ratio::cannot_run);
    a.on.set_capacity(resource_id::gpu, 0);
    CHECK(a.decide() == counts{0, 0, 0, 0});
    a.on.set_capacity(resource_id::gpu, 6);
    CHECK(a.decide() == counts{5, 0, 0, 1});
}

TEST_CASE("loss_delta_ratio: only what differs from what is held is said, and why a job holds nothing",
          "[loss_delta]") {
    shared a(3, 4);
    a.on.set_bounds(2, resource_id::gpu, 5, 8);
    CHECK(a.decide() == counts{2, 2, 0});
    auto const held = a.on.store[a.on.of(resource_id::gpu).held];
    held[0] = 2;
    held[1] = 1;
    CHECK(a.decide() == counts{2, 0});
    CHECK(a.rows[0].job == 1);
    CHECK(a.rows[1].reason == loss_delta_ratio::cannot_run);
}

TEST_CASE("loss_delta_ratio: no nodes, no jobs, no space", "[loss_delta]") {
    asked<loss_delta_ratio> no_nodes(2, loss_delta_ratio{}, 0);
    CHECK(no_nodes.decide().empty());
    asked<loss_delta_ratio> no_jobs(0);
    CHECK(no_jobs.decide().empty());
    asked<loss_delta_ratio> cramped(3);
    CHECK(cramped.decide(0, 2).empty());
    CHECK(cramped.reply == ration::status::capacity);
    asked<loss_delta_ratio> roomy(3);
    CHECK(cramped.decide() == roomy.decide());  // the call that had no room has left nothing behind
}

TEST_CASE("loss_delta_ratio: whatever happens, the devices suffice, and none is free that a running job would take",
          "[loss_delta]") {
    std::mt19937 rng(5);
    for (int round = 0; round < 300; ++round) {
        shared a(1 + rng() % 8, rng() % 20,
                 {.gamma = (rng() % 30) / 10.0, .normalised = rng() % 2 == 0, .residence = 3, .aging = 20});
        for (int second = 0; second < 40; ++second) {
            std::size_t const row = rng() % a.on.store.rows(table_id::jobs);
            a.fall(row, (rng() % 100) * 0.01 - 0.2, 20 + rng() % 200);
            if (rng() % 5 == 0) a.on.set_bounds(row, resource_id::gpu, rng() % 4, rng() % 8);
            if (rng() % 5 == 0) a.on.set_state(row, static_cast<job_state>(rng() % 5));
            if (rng() % 9 == 0) a.on.set_capacity(resource_id::gpu, rng() % 20);
            auto const got = a.decide();
            std::int64_t left = a.on.capacity(0, resource_id::gpu);
            bool sound = true, somebody_could = false;
            for (auto const& g : a.rows) {
                auto const least = a.on.store[a.on.of(resource_id::gpu).minimum][g.job],
                           most = a.on.store[a.on.of(resource_id::gpu).maximum][g.job];
                sound = sound && (g.amount == 0 || (g.amount >= least && g.amount <= most));
                somebody_could |= g.amount > 0 && g.amount < most;
                left -= g.amount;
            }
            INFO("round " << round << ", second " << second);
            REQUIRE(sound);
            REQUIRE(left >= 0);
            REQUIRE((left == 0 || !somebody_could));
        }
    }
}

namespace {

/// Three devices, for which many jobs have to wait; a resize costs nothing.
void few_devices(ration::snapshot_store& store, std::uint64_t) {
    for (auto& capacity : store[must(store.find<std::int64_t>("nodes/capacity.gpu"))]) capacity = 3;
    for (auto& most : store[must(store.find<std::int64_t>("jobs/max.gpu"))]) most = most > 0 ? most : 2;
    for (auto& cost : store[must(store.find<double>("jobs/restart_cost"))]) cost = 0;
}

}  // namespace

TEST_CASE("loss_delta_ratio: keeps the laws of a policy", "[loss_delta]") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
        for (std::size_t const jobs : {3, 8, 24})
            for (auto const& p :
                 {loss_delta_ratio_parameters{.window = 200, .residence = 5, .aging = 40},
                  loss_delta_ratio_parameters{
                      .window = 200, .direction = favour_large, .residence = 0, .aging = 40, .heed_wants = true}}) {
                auto const kept = ration::testing::policy_laws([&] { return loss_delta_ratio(p); },
                                                               {.seed = seed,
                                                                .ticks = 400,
                                                                .most = {.jobs = jobs, .nodes = 1},
                                                                .fill = few_devices,
                                                                .allocations = allocations});
                INFO("seed " << seed << ", jobs " << jobs << ", residence " << p.residence);
                if (!kept) FAIL(kept.failure().operation << ": " << kept.failure().subject.view());
            }
}

TEST_CASE("loss_delta_ratio: with heed_wants a request bounds the devices of a job", "[loss_delta]") {
    for (bool const heeds : {false, true}) {
        shared a(2, 8, {.residence = 1000, .heed_wants = heeds});
        CHECK(a.decide() == counts{4, 4});
        a.hold();
        a.on.store[a.on.of(resource_id::gpu).requested][1] = 2;  // during the residence
        CHECK(a.decide() == (heeds ? counts{6, 2} : counts{}));
        if (heeds) a.hold();
        a.on.store[a.on.of(resource_id::gpu).requested][1] = 0;
        CHECK(a.decide() == (heeds ? counts{4, 4} : counts{}));
    }
}

TEST_CASE("loss_delta_ratio: parameters that cannot be are named with what to write instead", "[loss_delta]") {
    auto const reports = [](loss_delta_ratio_parameters const& p, std::string_view what) {
        return p.problem().find(what) == 0;
    };
    CHECK(loss_delta_ratio_parameters{}.problem().empty());
    CHECK(loss_delta_ratio_parameters{.window = 1, .gamma = 0, .epsilon = 1, .residence = 0, .aging = 1}
              .problem()
              .empty());
    for (std::int64_t const window : {0, -1}) CHECK(reports({.window = window}, "window"));
    for (double const gamma : {-0.1, 64.1, not_a_number}) CHECK(reports({.gamma = gamma}, "gamma"));
    for (double const epsilon : {0.0, -1.0, 1.1, not_a_number}) CHECK(reports({.epsilon = epsilon}, "epsilon"));
    for (double const time : {-1.0, 2e6, not_a_number}) {
        CHECK(reports({.residence = time}, "residence"));
        CHECK(reports({.aging = time}, "aging"));
    }
    CHECK(reports({.aging = 0}, "aging"));
}

TEST_CASE("loss_delta_ratio: falls beyond all measure count alike", "[loss_delta]") {
    shared s(2, 4);
    for (std::size_t const job : {0, 1}) s.report(job, 1, 2e-300);
    s.begin();
    for (std::size_t const job : {0, 1}) s.report(job, 101, 1e-300);
    static_cast<void>(s.decide());
    for (std::size_t const job : {0, 1}) s.report(job, 201, -1e300);
    CHECK(s.decide() == counts{2, 2});
}
