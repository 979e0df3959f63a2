// SPDX-License-Identifier: BSL-1.0
// The machine of one change of size, with a synthetic clock and no process.
#include <memory>

#include "resize_support.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;
using resize_test::launched_job;
using resize_test::one_job;

TEST_CASE("a job that grows keeps its devices and has the old ones reserved until it trains") {
    one_job t;
    t.save_and_stop(3);
    CHECK(t.all.table().of(t.id) == device_list{0, 1, 2});
    t.machine->cleared(t.now);
    CHECK(t.orders() == std::vector{resize_order::launch});
    CHECK(t.machine->state().devices.held() == device_list{0, 1, 2});
    t.machine->launch().hello(true, 3, "cpu-0,cpu-1,cpu-2", t.now);
    CHECK(t.machine->state().phase == resize_phase::starting);
    t.pass(4);
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().phase == resize_phase::steady);
    CHECK(t.machine->state().cost.seconds() == 4);
}

TEST_CASE("devices that a job gives back are free only once it works with the rest") {
    one_job t;
    t.save_and_stop(1);
    t.clear();
    CHECK(t.all.table().free() == 2);
    t.machine->launch().hello(true, 1, "cpu-0", t.now);
    CHECK(t.all.table().free() == 2);
    t.machine->launch().stepped(t.now);
    CHECK(t.all.table().free() == 3);
    CHECK(t.machine->state().devices.held() == device_list{0});
}

TEST_CASE("no devices: saved, stopped, queued, and launched again when there are some") {
    one_job t;
    t.save_and_stop(0);
    CHECK(t.all.table().free() == 2);
    t.machine->cleared(t.now);
    CHECK(t.machine->state().phase == resize_phase::queued);
    CHECK(t.all.table().free() == 4);
    CHECK(t.orders().empty());
    t.want(4);
    CHECK(t.orders() == std::vector{resize_order::launch});
    CHECK(t.machine->state().devices.size() == 4);
}

TEST_CASE("another batch restarts no job, and applies from the next launch on") {
    one_job t;
    t.machine->want_batch(256);
    t.pass(100);
    CHECK(t.orders().empty());
    CHECK(t.machine->state().phase == resize_phase::steady);
    t.save_and_stop(3);
    CHECK(t.machine->state().devices.batch() == 256);
}

TEST_CASE("what fails before the stop costs nothing but the time") {
    one_job t;
    t.want(4);
    REQUIRE(t.orders() == std::vector{resize_order::save});
    SECTION("no checkpoint in time") { t.pass(10); }
    SECTION("a checkpoint that failed") { t.machine->checkpoint(false, t.now); }
    CHECK(t.orders() == std::vector{resize_order::go});
    CHECK(t.machine->state().phase == resize_phase::steady);
    CHECK(t.machine->state().devices.wanted() == 2);
    CHECK(t.all.table().free() == 2);
    CHECK_FALSE(t.machine->state().can_change(t.now));
    t.want(4);
    CHECK(t.orders().empty());
    t.pass(31);
    CHECK(t.orders() == std::vector{resize_order::save});
    t.pass(10);
    t.pass(31);
    CHECK_FALSE(t.machine->state().can_change(t.now));  // twice as long now
}

TEST_CASE("a job that does not stop is terminated, then killed, and its devices stay its own") {
    one_job t;
    t.want(1);
    t.machine->checkpoint(true, t.now);
    static_cast<void>(t.orders());
    t.pass(5);
    CHECK(t.orders() == std::vector{resize_order::terminate});
    t.pass(2);
    CHECK(t.orders() == std::vector{resize_order::kill});
    static_cast<void>(t.reported());
    t.pass(2);
    CHECK(t.reported() == std::vector<std::string_view>{"stuck"});
    CHECK(t.orders() == std::vector{resize_order::kill});
    t.pass(100);
    CHECK(t.reported().empty());
    CHECK(t.all.table().of(t.id) == device_list{0, 1});
    CHECK(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
    t.machine->cleared(t.now);
    CHECK(t.machine->state().devices.held() == device_list{0});
}

TEST_CASE("what fails after the stop ends at the old size") {
    one_job t;
    t.save_and_stop(4);
    t.machine->cleared(t.now);
    REQUIRE(t.orders() == std::vector{resize_order::launch});
    bool killed = true;
    SECTION("it ends at its start") {
        REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
        killed = false;
    }
    SECTION("it ends before its first step") {
        t.machine->launch().hello(true, 4, "cpu-0,cpu-1,cpu-2,cpu-3", t.now);
        REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
        killed = false;
    }
    SECTION("it never says hello") { t.pass(20); }
    SECTION("it sees other devices") { t.machine->launch().hello(true, 4, "cpu-0,cpu-1,cpu-3,cpu-2", t.now); }
    SECTION("it has another number of ranks") { t.machine->launch().hello(true, 2, "", t.now); }
    if (killed) {
        REQUIRE(t.orders() == std::vector{resize_order::kill});
        REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
    }
    CHECK(t.machine->state().devices.wanted() == 2);
    t.machine->cleared(t.now);
    REQUIRE(t.orders() == std::vector{resize_order::launch});
    CHECK(t.machine->state().devices.held() == device_list{0, 1});
    t.machine->launch().hello(true, 2, "", t.now);
    t.machine->launch().stepped(t.now);
    CHECK(t.machine->state().phase == resize_phase::steady);
    CHECK(t.reported().back() == "restored");
    CHECK(t.all.table().free() == 2);
}

TEST_CASE("a job that ends while it saves is launched again at its size; one that had done its work is over") {
    one_job t;
    t.want(4);
    SECTION("killed") {
        REQUIRE(t.machine->exited(false, false, t.now) == exit_meaning::part_of_resize);
        t.machine->cleared(t.now);
        CHECK(t.machine->state().devices.held() == device_list{0, 1});
        CHECK(t.machine->state().phase == resize_phase::starting);
    }
    SECTION("done") {
        REQUIRE(t.machine->exited(true, true, t.now) == exit_meaning::job_is_over);
        t.machine->ended(true, t.now);
        CHECK(t.all.table().free() == 4);
    }
}

TEST_CASE("a first start that fails is the job's own failure, a later one gets three tries") {
    launched_job t(1);
    SECTION("first") { CHECK(t.machine.exited(false, false, seconds(2)) == exit_meaning::job_is_over); }
    SECTION("later") {
        t.machine.checkpoint(true, seconds(1));
        nanoseconds now = seconds(2);
        for (int i = 0; i < 3; ++i) {
            REQUIRE(t.machine.exited(false, false, now) == exit_meaning::part_of_resize);
            t.machine.cleared(now);
            CHECK(t.machine.state().phase == resize_phase::queued);
            t.machine.want(1);
            t.all.advance(now);
            CHECK(t.machine.state().phase == resize_phase::queued);  // not at once
            now = now + seconds(1000);
            t.all.advance(now);
            REQUIRE(t.machine.state().phase == resize_phase::starting);
        }
        CHECK(t.machine.exited(false, false, now) == exit_meaning::job_is_over);
    }
}

TEST_CASE("wrong devices at the first launch are refused") {
    launched_job t(2);
    static_cast<void>(t.machine.take_orders());
    t.machine.launch().hello(true, 1, "cpu-1", seconds(1));
    CHECK(t.machine.take_orders() == std::vector{resize_order::refuse});
    CHECK(t.machine.state().outbox.why() == "it sees the devices cpu-1 and was given cpu-0");
}

TEST_CASE("a growth waits for a shrink and trains on meanwhile; when that fails it is given up") {
    auto const devices = names(4);
    elastic_jobs all{devices};
    nanoseconds now = seconds(1);
    for (std::uint64_t id : {1, 2}) all.add(job_id{id}, short_rules(), 1);
    resize &first = *all.find(job_id{1}), &second = *all.find(job_id{2});
    first.want(3);
    second.want(1);
    all.advance(now);
    for (auto* machine : {&first, &second}) {
        machine->launch().made(now);
        machine->launch().hello(true, static_cast<std::uint32_t>(machine->state().devices.size()), "", now);
        static_cast<void>(machine->take_orders());
    }
    first.want(1);
    second.want(3);
    all.advance(now);
    CHECK(first.state().phase == resize_phase::saving);
    CHECK(second.state().phase == resize_phase::steady);
    SECTION("it works") {
        first.checkpoint(true, now);
        static_cast<void>(first.exited(true, false, now));
        first.cleared(now);
        first.launch().made(now);
        first.launch().hello(true, 1, "", now);
        first.launch().stepped(now);
        all.advance(now);
        CHECK(second.state().phase == resize_phase::saving);
        CHECK(all.table().of(job_id{2}) == device_list{1, 2, 3});
    }
    SECTION("it fails") {
        first.checkpoint(false, now);
        all.advance(now);
        CHECK(first.state().devices.wanted() == 3);
        CHECK(second.state().devices.wanted() == 1);
        CHECK(second.state().phase == resize_phase::steady);
        CHECK(second.take_notes().back().what == resize_step::failed);
        CHECK(second.state().can_change(now));  // it was not its own failure
    }
}

TEST_CASE("what is left of a job that is over keeps its devices") {
    one_job t;
    REQUIRE(t.machine->exited(true, true, t.now) == exit_meaning::job_is_over);
    t.machine->ended(false, t.now);
    CHECK(t.all.table().free() == 2);
    CHECK(t.all.usable() == 2);
    t.pass(3);
    CHECK(t.reported() == std::vector<std::string_view>{"stuck"});
    t.machine->cleared(t.now);
    CHECK(t.machine->state().phase == resize_phase::over);
    CHECK(t.all.usable() == 4);
    CHECK(t.all.table().free() == 4);
}

TEST_CASE("a command that cannot be sent does not wait for its deadline") {
    one_job t;
    t.want(4);
    SECTION("save") {
        t.machine->command_failed("gone", t.now);
        CHECK(t.machine->state().phase == resize_phase::steady);
        CHECK(t.machine->state().devices.wanted() == 2);
    }
    SECTION("stop") {
        t.machine->checkpoint(true, t.now);
        static_cast<void>(t.orders());
        t.machine->command_failed("gone", t.now);
        CHECK(t.orders() == std::vector{resize_order::terminate});
    }
}

TEST_CASE("a job without a place for commands is resized only after it has reported a checkpoint") {
    launched_job t(2);
    t.machine.launch().hello(false, 1, "", seconds(1));
    static_cast<void>(t.machine.take_orders());
    t.machine.want(2);
    t.all.advance(seconds(2));
    CHECK(t.machine.take_orders().empty());
    t.machine.checkpoint(true, seconds(3));
    t.all.advance(seconds(3));
    CHECK(t.machine.take_orders() == std::vector{resize_order::terminate});
}

TEST_CASE("who goes on from a record brings the job to the old or the new size") {
    one_job t;
    t.want(3);
    static_cast<void>(t.orders());
    auto const go_on = [&](bool alive) {
        auto const record = t.machine->state().record();
        auto next = std::make_unique<elastic_jobs>(t.devices);
        next->add(t.id, short_rules(), 10);
        REQUIRE(next->find(t.id)->restore(record, alive, t.now));
        return next;
    };
    SECTION("asked to save, and alive: it trains on") {
        auto const all = go_on(true);
        CHECK(all->find(t.id)->take_orders() == std::vector{resize_order::go});
        CHECK(all->find(t.id)->state().phase == resize_phase::steady);
        CHECK(all->table().of(t.id) == device_list{0, 1});
    }
    SECTION("asked to save, and gone: the old size") {
        auto const all = go_on(false);
        all->find(t.id)->cleared(t.now);
        CHECK(all->find(t.id)->state().devices.held() == device_list{0, 1});
    }
    t.machine->checkpoint(true, t.now);
    SECTION("asked to stop, and alive: SIGTERM, then the new size") {
        auto const all = go_on(true);
        CHECK(all->find(t.id)->take_orders() == std::vector{resize_order::terminate});
        CHECK(all->find(t.id)->exited(false, false, t.now) == exit_meaning::part_of_resize);
        all->find(t.id)->cleared(t.now);
        CHECK(all->find(t.id)->state().devices.held() == device_list{0, 1, 2});
    }
    static_cast<void>(t.machine->exited(true, false, t.now));
    t.machine->cleared(t.now);
    SECTION("launched, and gone: the old size, with which it began") {
        auto const all = go_on(false);
        CHECK(all->find(t.id)->state().devices.wanted() == 2);
        all->find(t.id)->cleared(t.now);
        CHECK(all->find(t.id)->state().devices.held() == device_list{0, 1});
    }
}

TEST_CASE("resize::restore refuses devices that another job holds by now") {
    one_job t;
    t.want(3);
    auto const record = t.machine->state().record();
    elastic_jobs all(t.devices);
    all.add(t.id, short_rules(), 10);
    REQUIRE(all.table().take(job_id{9}, 1).size() == 1);
    CHECK_FALSE(all.find(t.id)->restore(record, true, t.now));
}
