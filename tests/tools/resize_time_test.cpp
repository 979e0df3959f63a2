// SPDX-License-Identifier: BSL-1.0
// The effect of time on a change of size: waits, rests, deadlines, and the reported cost of a restart.
#include "resize_support.hpp"

using namespace ration;
using namespace ration::program;
using resize_test::launched_job;
using resize_test::one_job;
using words = std::vector<std::string_view>;
using orders = std::vector<resize_order>;

namespace {

/// Launched with three devices after it had two.
struct job_at_its_new_size : one_job {
    job_at_its_new_size() {
        save_and_stop(3);
        machine->cleared(now);
        REQUIRE(orders() == std::vector{resize_order::launch});
        static_cast<void>(reported());
    }
};

}  // namespace

TEST_CASE("who waits for devices is told so once, waits its time, and has it anew the next time") {
    one_job t;
    REQUIRE(t.all.table().take(job_id{9}, 2).size() == 2);
    t.want(4);
    CHECK(t.reported() == words{"waiting"});
    CHECK(t.machine->next_deadline() == t.now + seconds(60));
    t.pass(59);
    CHECK(t.reported().empty());
    SECTION("to its end") {
        t.pass(1);
        CHECK(t.reported() == words{"failed"});
        CHECK(t.machine->state().devices.wanted() == 2);
        CHECK_FALSE(t.machine->state().can_change(t.now));
    }
    SECTION("until it is given up") {
        t.machine->give_up_waiting("another has kept them");
        CHECK(t.reported() == words{"failed"});
    }
    CHECK_FALSE(t.machine->next_deadline());
    t.pass(40);
    t.want(4);
    CHECK(t.reported() == words{"waiting"});
    CHECK(t.machine->next_deadline() == t.now + seconds(60));
}

TEST_CASE("a launch may wait for as long as it takes: its deadline counts from when it is made") {
    one_job t;
    t.save_and_stop(3);
    t.machine->cleared(t.now);
    static_cast<void>(t.reported());
    REQUIRE(t.machine->take_orders() == orders{resize_order::launch});
    CHECK(t.machine->launch().is_awaited());
    CHECK_FALSE(t.machine->next_deadline());
    t.pass(1000);
    t.machine->launch().hello(true, 3, "cpu-0,cpu-1,cpu-2", t.now);  // the last words of the process before
    t.machine->launch().stepped(t.now);
    CHECK((t.machine->launch().is_awaited() && t.reported().empty() && t.orders().empty()));  // which makes it
    CHECK_FALSE(t.machine->launch().is_awaited());
    CHECK(t.machine->next_deadline() == t.now + seconds(20));
    t.pass(19);
    CHECK(t.orders().empty());
    t.pass(1);
    CHECK(t.reported() == words{"failed", "killing"});
}

TEST_CASE("a job rests twice as long after each failure, sixteen times as long at most") {
    one_job t;
    for (std::int64_t const rest : {30, 60, 120, 240, 480, 480}) {
        t.want(4);
        REQUIRE(t.orders() == orders{resize_order::save});
        t.machine->checkpoint(false, t.now);
        CHECK_FALSE(t.machine->state().can_change(t.now + seconds(static_cast<double>(rest)) - nanoseconds{1}));
        CHECK(t.machine->state().can_change(t.now + seconds(static_cast<double>(rest))));
        t.pass(rest);
        static_cast<void>(t.orders());
    }
}

TEST_CASE("to be back at the old size is no success after which a failure counts as the first") {
    job_at_its_new_size t;
    REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
    t.clear();
    t.machine->launch().hello(true, 2, "", t.now);
    t.machine->launch().stepped(t.now);
    CHECK(t.reported().back() == "restored");
    t.pass(30);
    static_cast<void>(t.orders());
    t.want(4);
    REQUIRE(t.orders() == orders{resize_order::save});
    t.machine->checkpoint(false, t.now);
    CHECK_FALSE(t.machine->state().can_change(t.now + seconds(59)));
    CHECK(t.machine->state().can_change(t.now + seconds(60)));
}

TEST_CASE("after its hello a job has the time of a start once more to train, and works then") {
    job_at_its_new_size t;
    t.pass(19);
    t.machine->launch().hello(true, 3, "cpu-0,cpu-1,cpu-2", t.now);
    t.pass(19);
    CHECK(t.machine->state().phase == resize_phase::starting);
    t.pass(1);
    CHECK(t.machine->state().phase == resize_phase::steady);
}

TEST_CASE("a job that does not say how many ranks it has is no wrong one") {
    job_at_its_new_size t;
    t.machine->launch().hello(true, 0, "cpu-0,cpu-1,cpu-2", t.now);
    CHECK(t.orders().empty());
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().phase == resize_phase::steady);
}

TEST_CASE("what cannot be killed is killed again now and then, and told once") {
    one_job t;
    t.want(3);
    t.machine->checkpoint(true, t.now);
    for (std::int64_t const wait : {5, 2}) t.pass(wait);
    REQUIRE(t.machine->state().phase == resize_phase::killing);
    static_cast<void>(t.orders());
    static_cast<void>(t.reported());
    t.pass(2);
    CHECK(t.orders() == orders{resize_order::kill});
    CHECK(t.reported() == words{"stuck"});
    t.pass(1);
    CHECK(t.orders().empty());
    t.pass(1);
    CHECK(t.orders() == orders{resize_order::kill});
    CHECK(t.reported().empty());
}

TEST_CASE("a restart costs the time to its first step, and not that in the queue") {
    job_at_its_new_size t;
    t.machine->launch().hello(true, 3, "", t.now);
    t.pass(4);
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().cost.seconds() == 4);
    t.pass(100);
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().cost.seconds() == 4);
    t.save_and_stop(0);
    t.machine->cleared(t.now);
    t.pass(100);
    t.want(2);
    t.machine->launch().made(t.now);
    t.machine->launch().hello(true, 2, "", t.now);
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().cost.seconds() == 4);
}

TEST_CASE("a program that cannot be started is the end of the job, with the reason") {
    launched_job t(1);
    static_cast<void>(t.machine.take_orders());
    t.machine.launch().failed("no such program", seconds(1));
    CHECK(t.machine.take_orders() == orders{resize_order::refuse});
    CHECK(t.machine.state().outbox.why() == "no such program");
}

TEST_CASE("a clean end before the stop is the end of the job, and one after it is not unless the job says so") {
    one_job t;
    t.want(3);
    SECTION("it saves") { CHECK(t.machine->exited(true, false, t.now) == exit_meaning::job_is_over); }
    t.machine->checkpoint(true, t.now);
    SECTION("it was told to stop") { CHECK(t.machine->exited(true, false, t.now) == exit_meaning::part_of_resize); }
    SECTION("and was done") { CHECK(t.machine->exited(true, true, t.now) == exit_meaning::job_is_over); }
}

TEST_CASE("a start that an earlier controller has ordered has all its time") {
    job_at_its_new_size t;
    elastic_jobs next(t.devices);
    next.add(t.id, short_rules(), 10);
    auto& machine = *next.find(t.id);
    REQUIRE(machine.restore(t.machine->state().record(), true, t.now));
    next.advance(t.now + seconds(19));
    CHECK(machine.state().phase == resize_phase::starting);
    next.advance(t.now + seconds(20));
    CHECK(machine.state().phase == resize_phase::killing);
}

TEST_CASE("a job that was found dead at rest is launched again, and told as one that is back") {
    one_job t;
    t.machine->checkpoint(true, t.now);
    elastic_jobs next(t.devices);
    next.add(t.id, short_rules(), 10);
    auto& machine = *next.find(t.id);
    REQUIRE(machine.restore(t.machine->state().record(), false, t.now));
    machine.cleared(t.now);
    CHECK(machine.take_orders() == orders{resize_order::launch});
    CHECK(machine.state().devices.held() == device_list{0, 1});
    machine.launch().made(t.now);
    machine.launch().hello(true, 2, "", t.now);
    machine.launch().stepped(t.now);
    CHECK(machine.take_notes().back().what == resize_step::restored);
}
