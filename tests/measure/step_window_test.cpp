// SPDX-License-Identifier: BSL-1.0
// The speed of a job from its reports, on a clock of the test.
#include "measure/step_window.hpp"

#include "support/catch.hpp"

using namespace ration;
using ration::program::step_window;

TEST_CASE("step_window: slow first steps do not count") {
    step_window window(seconds(2), seconds(10));
    window.add(1, seconds(100));
    window.add(2, seconds(101));  // within the warm-up
    window.add(3, seconds(102.5));
    for (int i = 1; i <= 20; ++i) {
        CHECK_FALSE(window.complete());
        window.add(3 + 4 * static_cast<std::uint64_t>(i), seconds(102.5 + 0.5 * i));
    }
    REQUIRE(window.complete());
    CHECK(window.rate() == Approx(8));
    CHECK(window.last_step() == 83);
}

TEST_CASE("step_window: the time between the reports counts, and not the length that was asked for") {
    step_window window(seconds(0), seconds(10));
    window.add(100, seconds(1));
    window.add(190, seconds(10));
    CHECK_FALSE(window.complete());
    window.add(300, seconds(21));
    REQUIRE(window.complete());
    CHECK(window.rate() == Approx(10));
}

TEST_CASE("step_window: a slow job is measured over five steps") {
    step_window window(seconds(1), seconds(1));
    for (std::uint64_t step = 1; step <= 6; ++step) {
        window.add(step, seconds(30.0 * static_cast<double>(step)));
        CHECK_FALSE(window.complete());
    }
    window.add(7, seconds(210));
    REQUIRE(window.complete());
    CHECK(window.rate() == Approx(1.0 / 30));
}

TEST_CASE("step_window: a job that returns to an earlier step is measured from there") {
    step_window window(seconds(1), seconds(4));
    window.add(100, seconds(1));
    window.add(110, seconds(2));
    window.add(120, seconds(3));
    window.add(50, seconds(10));
    window.add(60, seconds(11));  // the warm-up ends here
    window.add(90, seconds(14));
    CHECK_FALSE(window.complete());
    window.add(100, seconds(15));
    REQUIRE(window.complete());
    CHECK(window.rate() == Approx(10));
}

TEST_CASE("step_window: reports after the end change nothing") {
    step_window window(seconds(0), seconds(1));
    window.add(0, seconds(1));
    window.add(10, seconds(2));
    window.add(10, seconds(50));
    window.add(5, seconds(51));
    CHECK(window.rate() == Approx(10));
}

TEST_CASE("step_window: has no time of a last report before the first") {
    CHECK_FALSE(step_window(seconds(1), seconds(1)).last_report().has_value());
    CHECK(step_window(seconds(1), seconds(1)).last_step() == 0);
}
