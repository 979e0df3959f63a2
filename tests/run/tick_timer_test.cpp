// SPDX-License-Identifier: BSL-1.0
#include "run/tick_timer.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace ration;
using program::tick_timer;

namespace {

/// Which of the ticks at these times measure.
std::vector<bool> measuring(std::vector<int> const& at_ms) {
    tick_timer timer(milliseconds(250));
    std::vector<bool> out;
    for (int const ms : at_ms) {
        timer.start(milliseconds(ms));
        out.push_back(timer.measures());
    }
    return out;
}

}  // namespace

TEST_CASE("the first tick is due at once, and the next one an interval later") {
    tick_timer timer(milliseconds(250));
    CHECK(timer.is_due({}));
    CHECK(timer.next() == nanoseconds{});
    timer.start(milliseconds(10));
    CHECK(timer.next() == milliseconds(260));
    CHECK_FALSE(timer.is_due(milliseconds(259)));
    CHECK(timer.is_due(milliseconds(260)));
}

TEST_CASE("a tick that is requested is due at once, once, and delays the next one") {
    tick_timer timer(milliseconds(250));
    timer.start({});
    timer.request();
    CHECK(timer.is_due(milliseconds(1)));
    CHECK(timer.next() == nanoseconds{});
    timer.start(milliseconds(100));
    CHECK_FALSE(timer.is_due(milliseconds(349)));
    CHECK(timer.is_due(milliseconds(350)));
}

TEST_CASE("a tick measures once in an interval") {
    CHECK(measuring({0, 250, 500}) == std::vector{true, true, true});
    CHECK(measuring({0, 100, 350}) == std::vector{true, false, true});
    // Requests that come faster than the interval put off no measurement
    CHECK(measuring({0, 100, 200, 300, 400, 500, 600}) == std::vector{true, false, false, true, false, false, true});
}
