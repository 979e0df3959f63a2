// SPDX-License-Identifier: BSL-1.0
// The deadline of each phase of a resize, and the wait for devices before it.
#include "run/resize_timer.hpp"

#include "resize_support.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

TEST_CASE("resize_timer: each phase has its own time") {
    auto const [phase, limit] = GENERATE(table<resize_phase, double>({{resize_phase::saving, 10},
                                                                      {resize_phase::stopping, 5},
                                                                      {resize_phase::terminating, 2},
                                                                      {resize_phase::killing, 2},
                                                                      {resize_phase::clearing, 3}}));
    INFO(name_of(phase));
    resize_timer timer(short_rules());
    timer.begin(phase, seconds(100));
    CHECK(timer.deadline() == seconds(100 + limit));
    CHECK_FALSE(timer.is_due(timer.deadline() - nanoseconds{1}));
    CHECK(timer.is_due(timer.deadline()));
}

TEST_CASE("resize_timer: a start has its time from the launch on, and once more from its hello") {
    resize_timer timer(short_rules());
    timer.begin(resize_phase::starting, seconds(100));
    timer.allow_start(seconds(500));
    CHECK(timer.deadline() == seconds(520));
    timer.allow_start(seconds(519));
    CHECK(timer.deadline() == seconds(539));
}

TEST_CASE("resize_timer: a phase that lasts on is reported once, and comes up again after the time of a SIGKILL") {
    resize_timer timer(short_rules());
    timer.begin(resize_phase::clearing, seconds(100));
    CHECK(timer.repeat(seconds(103)));
    CHECK(timer.deadline() == seconds(105));
    CHECK_FALSE(timer.repeat(seconds(105)));
    CHECK(timer.deadline() == seconds(107));
    timer.begin(resize_phase::killing, seconds(110));
    CHECK(timer.repeat(seconds(112)));
}

TEST_CASE("resize_timer: a wait begins once, and has an end") {
    resize_timer timer(short_rules());
    CHECK_FALSE(timer.has_waited(seconds(1000)));
    CHECK_FALSE(timer.end_of_wait());
    CHECK(timer.wait(seconds(100)));
    CHECK_FALSE(timer.wait(seconds(110)));
    CHECK(timer.end_of_wait() == seconds(160));
    CHECK_FALSE(timer.has_waited(seconds(160) - nanoseconds{1}));
    CHECK(timer.has_waited(seconds(160)));
    timer.end_wait();
    CHECK_FALSE(timer.has_waited(seconds(1000)));
    CHECK(timer.wait(seconds(200)));
    CHECK(timer.end_of_wait() == seconds(260));
}
