// SPDX-License-Identifier: BSL-1.0
#include "loaded.hpp"

using namespace plugin_test;

namespace {

[[nodiscard]] event rejected() { return {.kind = event_kind::grant_rejected}; }

}  // namespace

TEST_CASE("three bad ticks among sixty-four end in quarantine, and older ones are forgotten", "[plugin]") {
    loaded counter("counter", options(isolation::in_process));
    auto const bad_tick = [&] {
        REQUIRE(counter.tick() == status::ok);
        auto const e = rejected();
        counter.policy->on_events({&e, 1});
    };
    bad_tick();
    bad_tick();
    for (int i = 0; i < 62; ++i) REQUIRE(counter.tick() == status::ok);
    CHECK(counter.policy->strikes() == 2);
    REQUIRE(counter.tick() == status::ok);  // the first one leaves the window
    CHECK(counter.policy->strikes() == 1);
    bad_tick();  // and the second
    CHECK(counter.policy->strikes() == 1);
    bad_tick();
    bad_tick();
    CHECK(counter.policy->quarantined());
    CHECK(counter.fault() == "granted what the rules do not allow");
    CHECK(counter.tick() == status::internal);
    CHECK(counter.rows == 0);
    CHECK(counter.policy->save({}) == 0);
}

TEST_CASE("several rejected grants of one tick are one strike", "[plugin]") {
    loaded counter("counter", options(isolation::in_process));
    REQUIRE(counter.tick() == status::ok);
    std::array<event, 5> const many{rejected(), rejected(), rejected(), rejected(), rejected()};
    counter.policy->on_events(many);
    CHECK(counter.policy->strikes() == 1);
    CHECK_FALSE(counter.policy->quarantined());
}

TEST_CASE("a worker ends when its policy comes into quarantine", "[plugin]") {
    loaded counter("counter", options(isolation::worker));
    auto const worker = static_cast<plugin::worker_policy&>(counter.policy->policy()).pid();
    auto const e = rejected();
    for (int i = 0; i < 3; ++i) {
        REQUIRE(::kill(worker, 0) == 0);
        REQUIRE(counter.tick() == status::ok);
        counter.policy->on_events({&e, 1});
    }
    REQUIRE(counter.policy->quarantined());
    CHECK(::kill(worker, 0) == -1);
}
