// SPDX-License-Identifier: BSL-1.0
// How long a job rests after failures, and the reported cost of a restart.
#include "run/back_off.hpp"

#include "run/restart_cost.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

TEST_CASE("back_off: without a failure nobody rests") { CHECK(back_off(seconds(30)).is_over(nanoseconds{})); }

TEST_CASE("back_off: a rest doubles with each failure in a row, up to 16 times the first") {
    back_off rest(seconds(3));
    nanoseconds now = seconds(100);
    for (double const length : {3, 6, 12, 24, 48, 48}) {
        rest.fail(now);
        CHECK_FALSE(rest.is_over(now));
        now = now + seconds(length);
        CHECK_FALSE(rest.is_over(now - nanoseconds{1}));
        CHECK(rest.is_over(now));
    }
}

TEST_CASE("back_off: a failure during a rest begins a longer one") {
    back_off rest(seconds(3));
    rest.fail(seconds(1));
    rest.fail(seconds(2));
    CHECK_FALSE(rest.is_over(seconds(7)));
    CHECK(rest.is_over(seconds(8)));
}

TEST_CASE("back_off: a success ends the row of failures and not the rest") {
    back_off rest(seconds(3));
    rest.fail(seconds(1));
    rest.succeed();
    CHECK_FALSE(rest.is_over(seconds(3)));
    CHECK(rest.is_over(seconds(4)));
    rest.fail(seconds(10));
    CHECK_FALSE(rest.is_over(seconds(12)));
    CHECK(rest.is_over(seconds(13)));
}

TEST_CASE("restart_cost: an estimate until one was measured, then the last one") {
    restart_cost cost(10);
    cost.end(seconds(1));
    CHECK(cost.seconds() == 10);
    cost.begin(seconds(2));
    CHECK(cost.seconds() == 10);
    cost.end(seconds(6));
    CHECK(cost.seconds() == 4);
    cost.end(seconds(60));
    CHECK(cost.seconds() == 4);
    cost.begin(seconds(70));
    cost.end(seconds(71));
    CHECK(cost.seconds() == 1);
}

TEST_CASE("restart_cost: a restart that does not come to its end is not measured") {
    restart_cost cost(10);
    cost.begin(seconds(1));
    cost.cancel();
    cost.end(seconds(2));
    CHECK(cost.seconds() == 10);
}
