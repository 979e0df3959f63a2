// SPDX-License-Identifier: BSL-1.0
// loss_delta_ratio over time: windows, arrivals, ends, waiting.
#include "loss_delta_host.hpp"
#include "support/catch.hpp"

using namespace unit;

TEST_CASE("loss_delta_ratio: an arrival gets an even share until its first window closes", "[loss_delta]") {
    shared a(1, 4);
    a.begin();
    a.fall(0, 10);
    CHECK(a.decide() == counts{4});
    a.fall(0, 1);
    CHECK(a.decide() == counts{4});
    a.add_job(2);
    a.report(1, 0, 0);  // has not reported yet
    CHECK(a.decide() == counts{2, 2});
    CHECK(a.rows[0].reason == loss_delta_ratio::by_ratio);
    CHECK(a.rows[1].reason == loss_delta_ratio::no_window_yet);
    a.report(1, 1, 50);
    CHECK(a.decide() == counts{2, 2});
    a.fall(1, 5, 99);
    CHECK(a.decide() == counts{2, 2});
    a.fall(1, 0, 1);
    CHECK(a.decide() == counts{3, 1});
    CHECK(a.rows[1].reason == loss_delta_ratio::by_ratio);
}

TEST_CASE("loss_delta_ratio: when a job ends the other takes all", "[loss_delta]") {
    shared a(2, 4, {});
    CHECK(a.decide() == counts{2, 2});
    a.on.set_state(0, job_state::done);
    CHECK(a.decide() == counts{4});
    CHECK(a.rows[0].job == 1);
    shared b(2, 4, {});
    CHECK(b.decide() == counts{2, 2});
    b.on.store.erase_row(table_id::jobs, 0);
    CHECK(b.decide() == counts{4});
}

TEST_CASE("loss_delta_ratio: a window in which the loss did not fall changes nothing", "[loss_delta]") {
    shared a(2, 4);
    CHECK(a.two(5) == counts{3, 1});
    static_cast<void>(a.decide());
    for (double const odd : {not_a_number, std::numeric_limits<double>::infinity()}) {
        double const loss = a.on.store[a.on.columns.loss][1];
        a.fall(1, odd);
        CHECK(a.decide() == counts{3, 1});
        a.report(1, a.on.store[a.on.columns.step][1], loss);
    }
    for (double const rise : {0.0, 0.5}) {
        a.fall(1, -rise);
        CHECK(a.decide() == counts{3, 1});
    }
    a.fall(1, 0.9);
    CHECK(a.decide() == counts{3, 1});
    a.fall(1, 0.2);  // equal now
    CHECK(a.decide() == counts{2, 2});
}

TEST_CASE("loss_delta_ratio: a job whose loss never falls keeps an even share", "[loss_delta]") {
    shared a(2, 4);
    a.begin();
    for (int window = 0; window < 10; ++window) {
        a.fall(0, 1.0 / (1 << window));
        a.fall(1, -1);
        CHECK(a.decide() == counts{2, 2});
    }
    CHECK(a.rows[1].reason == loss_delta_ratio::no_window_yet);
}

TEST_CASE("loss_delta_ratio: a window that was longer between two looks counts by its rate", "[loss_delta]") {
    shared a(2, 4);
    a.first_windows();
    a.fall(0, 1);
    a.fall(1, 4, 400);
    CHECK(a.decide() == counts{2, 2});
    a.fall(0, 0.2);
    a.fall(1, 2, 200);
    CHECK(a.decide() == counts{3, 1});
}

TEST_CASE("loss_delta_ratio: after a restart from an earlier step, and after a resize, a window begins anew",
          "[loss_delta]") {
    shared a(2, 4);
    CHECK(a.two(1) == counts{2, 2});
    a.report(0, 150, 900);  // from a checkpoint: lower step, another loss
    CHECK(a.decide() == counts{2, 2});
    a.fall(0, 0.9);
    a.fall(1, 1);
    CHECK(a.decide() == counts{2, 2});  // 900 to 899.1, and not 998 to 899.1
    a.fall(0, 0.1);
    CHECK(a.decide() == counts{3, 1});
    a.hold();
    a.fall(0, 50, 300);  // in between it was resized: these steps begin its window and end none
    CHECK(a.decide().empty());
    a.fall(0, 0.1);
    CHECK(a.decide().empty());
    a.fall(0, 1);
    CHECK(a.decide() == counts{2, 2});
    a.fall(0, 0.2);  // it still holds 3: its window continues
    CHECK(a.decide().empty());
}

TEST_CASE(
    "loss-delta ratio: what only progress asks for waits for residence and restart cost, what an end asks for does not",
    "[loss_delta]") {
    auto p = plain();
    p.residence = 10;
    shared a(2, 4, p);
    a.on.store[a.on.columns.restart_cost][1] = 5;
    a.begin();  // the change is at 1 s
    a.fall(0, 1);
    a.fall(1, 1);
    CHECK(a.decide() == counts{2, 2});
    a.fall(0, 0.1);
    a.fall(1, 1);
    while (a.now < 15) CHECK(a.decide() == counts{2, 2});
    CHECK(a.decide() == counts{3, 1});  // at 16 s
    a.on.set_state(1, job_state::failed);
    CHECK(a.decide() == counts{4});
}

TEST_CASE("loss_delta_ratio: of more jobs than devices those submitted first run, and a queued job is started",
          "[loss_delta]") {
    shared a(4, 2, {});
    a.on.set_state(1, job_state::queued);
    CHECK(a.decide() == counts{1, 1, 0, 0});
    CHECK(a.rows[2].reason == loss_delta_ratio::waiting);
    a.on.set_state(0, job_state::done);
    CHECK(a.decide() == counts{1, 1, 0});
}

TEST_CASE("loss_delta_ratio: of more jobs than devices a free place goes to the larger weight", "[loss_delta]") {
    shared a(3, 3);
    a.first_windows();
    a.fall(0, 1);
    a.fall(1, 0.9);
    a.fall(2, 0.1);
    CHECK(a.decide() == counts{1, 1, 1});
    a.on.set_capacity(resource_id::gpu, 0);
    CHECK(a.decide() == counts{0, 0, 0});
    a.now += 10;  // all wait for as long
    a.on.set_capacity(resource_id::gpu, 1);
    CHECK(a.decide() == counts{0, 0, 1});
}

TEST_CASE("loss_delta_ratio: a waiting job's turn comes, and the one it took the place of has its own again",
          "[loss_delta]") {
    auto p = plain();
    p.residence = 30;
    p.aging = 100;
    shared a(2, 1, p);
    a.on.store[a.on.columns.get<"jobs/submitted">()][1] = 5;
    counts turns;
    while (a.now < 404) {
        auto const now = a.decide();
        REQUIRE(now[0] + now[1] == 1);
        if (turns.empty() || (now[0] == 1) != (turns.size() % 2 == 1))
            turns.push_back(static_cast<std::int64_t>(a.now));
    }
    // The first job's turn comes with 100 s, being older; the other's after them
    CHECK(turns == counts{1, 102, 202, 303, 403});
}

TEST_CASE("loss_delta_ratio: a job that has just begun keeps its place, one that was only resized may lose it",
          "[loss_delta]") {
    auto p = plain();
    p.residence = 30;
    p.aging = 10;
    shared a(1, 2, p);
    CHECK(a.decide() == counts{2});
    a.now = 49;
    a.add_job(2);
    CHECK(a.decide() == counts{1, 1});  // at 50 s
    a.add_job(3);
    CHECK(a.decide() == counts{1, 1, 0});
    a.now = 69;
    a.on.set_bounds(2, resource_id::gpu, 1, 2);  // whatever makes it look before the rest is over
    CHECK(a.decide() == counts{0, 1, 1});
}

TEST_CASE("loss_delta_ratio: of jobs that have all just begun the larger weight stays when the node shrinks",
          "[loss_delta]") {
    auto p = plain();
    p.residence = 1000;
    shared a(2, 2, p);
    a.first_windows();
    a.fall(0, 1);
    a.fall(1, 0.1);
    CHECK(a.decide() == counts{1, 1});
    a.on.set_capacity(resource_id::gpu, 1);
    CHECK(a.decide() == counts{0, 1});
}

TEST_CASE("loss_delta_ratio: a loss window: only whole ones count, by their rate, from the first report on",
          "[loss_delta]") {
    ration::policies::detail::loss_window w;
    w.see(0, 77, 10);  // no step yet, and so no loss
    w.see(5, 9, 10);
    w.see(14, 1, 10);
    CHECK(w.empty());
    w.see(15, 7, 10);
    CHECK(w.delta() == 2);
    CHECK(w.first() == 2);
    w.see(35, 6, 10);
    CHECK(w.delta() == 0.5);
    CHECK(w.first() == 2);
    w.see(40, not_a_number, 10);
    w.see(50, not_a_number, 10);  // as if it had not been reported
    w.see(55, 2, 10);
    CHECK(w.delta() == 2);
    w.begin_anew();
    w.see(65, 1, 10);
    CHECK(w.delta() == 2);
    w.see(75, 0, 10);
    CHECK(w.delta() == 1);
    w.see(60, 5, 10);
    w.see(69, 4, 10);
    CHECK(w.delta() == 1);
    w.see(70, 2, 10);
    CHECK(w.delta() == 3);
    w.see(80, -1e308, 10);
    w.see(90, -1.7e308, 10);
    CHECK(w.delta() == Catch::Approx(0.7e308));
    w.see(100, 1.7e308, 10);
    w.see(110, -1.7e308, 10);  // a fall that no number holds
    CHECK(w.delta() == Catch::Approx(0.7e308));
}
