// SPDX-License-Identifier: BSL-1.0
// What other components read of a resize: whether the job restarts, why it cannot change, from which size to which.
#include <string>

#include "resize_support.hpp"

using namespace ration;
using namespace ration::program;
using resize_test::launched_job;
using resize_test::one_job;

namespace {

/// Each note as `what from>to`.
[[nodiscard]] std::vector<std::string> changes_of(resize& machine) {
    std::vector<std::string> out;
    for (auto const& note : machine.take_notes())
        out.push_back(std::string(name_of(note.what)) + " " + std::to_string(note.from) + ">" +
                      std::to_string(note.to));
    return out;
}

using changes = std::vector<std::string>;

}  // namespace

TEST_CASE("resize_state: a job restarts from the stop until it works again, at the new or the old size") {
    one_job t;
    auto const& state = t.machine->state();
    CHECK_FALSE(state.is_restarting());
    t.want(3);
    CHECK_FALSE(state.is_restarting());  // it saves, and trains on
    t.machine->checkpoint(true, t.now);
    CHECK(state.is_restarting());
    REQUIRE(t.machine->exited(true, false, t.now) == exit_meaning::part_of_resize);
    REQUIRE(state.phase == resize_phase::clearing);
    CHECK(state.is_restarting());
    for (bool const rolls_back : {true, false}) {
        t.clear();
        REQUIRE(state.phase == resize_phase::starting);
        CHECK(state.is_restarting());
        if (rolls_back) REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
    }
    t.machine->launch().stepped(t.now);
    CHECK_FALSE(state.is_restarting());
}

TEST_CASE("resize_state: a launch from the queue restarts nothing") {
    launched_job t(1);
    CHECK(t.machine.state().phase == resize_phase::starting);
    CHECK_FALSE(t.machine.state().is_restarting());
}

TEST_CASE("resize_state: each note has the size before and after, and a failure the one that was kept") {
    one_job t;
    t.save_and_stop(3);
    t.clear();
    CHECK(changes_of(*t.machine) == changes{"saving 2>3", "stopping 2>3", "clearing 2>3", "starting 2>3"});
    SECTION("it works") {
        t.machine->launch().stepped(t.now);
        CHECK(changes_of(*t.machine) == changes{"settled 2>3"});
        static_cast<void>(t.orders());
        t.save_and_stop(0);
        t.machine->cleared(t.now);
        CHECK(changes_of(*t.machine) == changes{"saving 3>0", "stopping 3>0", "clearing 3>0", "queued 0>0"});
        t.want(4);
        CHECK(changes_of(*t.machine) == changes{"starting 0>4"});
    }
    SECTION("it fails") {
        REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
        CHECK(changes_of(*t.machine) == changes{"failed 2>3", "clearing 3>2"});
        t.clear();
        t.machine->launch().stepped(t.now);
        CHECK(changes_of(*t.machine) == changes{"starting 2>2", "restored 2>2"});
    }
}

TEST_CASE("resize_state: why no resize may begin, now and at the last advance") {
    one_job t;
    auto const& state = t.machine->state();
    CHECK(state.why_not() == std::string());
    t.want(4);
    t.machine->checkpoint(false, t.now);
    CHECK(state.why_not() == std::string("its last change failed a short while ago"));
    auto const later = t.now + seconds(30);
    CHECK(state.can_change(later));
    CHECK(*state.why_not() != '\0');
    t.all.advance(later);
    CHECK(state.why_not() == std::string());
    t.machine->launch().hello(false, 2, "", later);
    CHECK(state.why_not(later) == std::string("it has neither opened a socket for commands nor reported a checkpoint"));
}
