// SPDX-License-Identifier: BSL-1.0
// Devices that are cordoned while jobs have them, or while they are free; and jobs that report devices that they were
// not given.
#include "resize_support.hpp"
#include "run/elastic_jobs.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// A job that works on two of four devices and takes commands.
struct at_work {
    std::vector<std::string> const devices = names(4);
    elastic_jobs all{devices};
    resize& machine;
    nanoseconds now = seconds(100);

    at_work() : machine((all.add(job_id{1}, short_rules(), 10), *all.find(job_id{1}))) {
        want(2);
        machine.launch().made(now);
        machine.launch().hello(true, 2, "cpu-0,cpu-1", now);
        REQUIRE(machine.state().phase == resize_phase::steady);
        static_cast<void>(machine.take_orders());
        static_cast<void>(machine.take_notes());
    }
    void want(std::int64_t n) {
        machine.want(n);
        all.advance(now);
    }
    void cordon(std::uint32_t device) {
        all.table().devices().cordon(device, true);
        all.advance(now);
    }
    [[nodiscard]] std::vector<resize_order> orders() { return machine.take_orders(); }
    /// Its next launch is ordered then.
    void saves_and_stops() {
        machine.checkpoint(true, now);
        REQUIRE(machine.exited(true, false, now) == exit_meaning::part_of_resize);
        machine.cleared(now);
        static_cast<void>(orders());
    }
};

using orders = std::vector<resize_order>;

}  // namespace

TEST_CASE("a device that is cordoned is given to nobody, and counts for nobody") {
    device_table table(names(3));
    table.devices().cordon(0, true);
    CHECK((table.free() == 2 && table.devices().cordoned() == 1 && table.held() == 0));
    CHECK(table.take(job_id{1}, 3).empty());
    CHECK(table.take(job_id{1}, 2) == device_list{1, 2});
    CHECK(table.devices().sound(device_list{2, 0, 1}) == device_list{2, 1});
    table.devices().cordon(2, true);
    CHECK((table.held() == 2 && table.of(job_id{1}) == device_list{1, 2}));
    table.devices().cordon(0, false);
    CHECK(table.free() == 1);
}

TEST_CASE("a job is moved off a device that was cordoned to one that is free") {
    at_work t;
    t.cordon(1);
    CHECK(t.all.usable() == 3);
    CHECK(t.orders() == orders{resize_order::save});
    t.saves_and_stops();
    CHECK(t.machine.state().devices.held() == device_list{0, 2});
    t.machine.launch().made(t.now);
    t.machine.launch().hello(true, 2, "cpu-0,cpu-2", t.now);
    t.machine.launch().stepped(t.now);
    CHECK(t.all.table().of(job_id{1}) == device_list{0, 2});
    CHECK(t.all.table().free() == 1);
}

TEST_CASE("where none is free the job stays until the policy gives it fewer, and loses that one then") {
    at_work t;
    REQUIRE(t.all.table().take(job_id{9}, 2).size() == 2);
    t.cordon(0);
    CHECK(t.orders().empty());
    CHECK(t.machine.take_notes().empty());  // it waits for nothing that it was promised
    CHECK(t.all.usable() == 3);
    t.want(1);
    CHECK(t.orders() == orders{resize_order::save});
    t.saves_and_stops();
    CHECK(t.machine.state().devices.held() == device_list{1});
}

TEST_CASE("what a job has that cannot be saved counts on") {
    std::vector<std::string> const devices = names(2);
    elastic_jobs all{devices};
    all.add(job_id{1}, short_rules(), 10);
    auto& machine = *all.find(job_id{1});
    machine.want(1);
    all.advance(seconds(1));
    machine.launch().made(seconds(1));
    machine.launch().hello(false, 1, "cpu-0", seconds(1));
    all.table().devices().cordon(0, true);
    all.advance(seconds(2));
    CHECK(all.usable() == 2);
    CHECK(machine.state().phase == resize_phase::steady);
    all.table().devices().cordon(1, true);
    CHECK(all.usable() == 1);
}

TEST_CASE("a job that dies with a device goes on without it from its checkpoint; without a checkpoint it has failed") {
    for (bool const saved : {true, false}) {
        at_work t;
        REQUIRE(t.all.table().take(job_id{9}, 2).size() == 2);
        t.machine.want(2);
        if (saved) t.machine.checkpoint(true, t.now);
        t.all.table().devices().cordon(0, true);
        auto const meaning = t.machine.exited(false, false, t.now);
        CHECK(meaning == (saved ? exit_meaning::part_of_resize : exit_meaning::job_is_over));
        if (!saved) continue;
        t.machine.cleared(t.now);
        CHECK(t.orders() == orders{resize_order::launch});
        CHECK(t.machine.state().devices.held() == device_list{1});
    }
}

TEST_CASE("only a job with a checkpoint, at work, that is not to end anyway goes on after a device's failure") {
    at_work t;
    CHECK_FALSE(t.machine.state().outlives_a_device());
    t.machine.checkpoint(true, t.now);
    CHECK(t.machine.state().outlives_a_device());
    t.want(1);
    REQUIRE(t.machine.state().phase == resize_phase::saving);
    CHECK_FALSE(t.machine.state().outlives_a_device());
    t.machine.checkpoint(false, t.now);
    CHECK(t.machine.state().outlives_a_device());
    t.machine.finish();
    CHECK_FALSE(t.machine.state().outlives_a_device());
}

TEST_CASE("a device that is cordoned before the launch is replaced, or done without, or waited for") {
    at_work t;
    t.want(3);
    t.saves_and_stops();
    REQUIRE((t.machine.launch().is_awaited() && t.machine.state().devices.held() == device_list{0, 1, 2}));
    t.machine.launch().replace_cordoned(t.now);
    CHECK(t.machine.state().devices.held() == device_list{0, 1, 2});
    t.all.table().devices().cordon(1, true);
    t.machine.launch().replace_cordoned(t.now);
    CHECK((t.machine.launch().is_awaited() && t.machine.state().devices.held() == device_list{0, 2, 3}));
    CHECK(t.machine.take_notes().back().why == "a device was cordoned before the launch");
    t.all.table().devices().cordon(0, true);
    t.machine.launch().replace_cordoned(t.now);
    CHECK((t.machine.launch().is_awaited() && t.machine.state().devices.held() == device_list{2, 3}));
    t.all.table().devices().cordon(2, true);
    t.all.table().devices().cordon(3, true);
    t.machine.launch().replace_cordoned(t.now);
    CHECK((t.machine.state().phase == resize_phase::queued && !t.machine.launch().is_awaited()));
    CHECK((t.all.table().held() == 0 && t.machine.state().devices.held().empty()));
}

TEST_CASE("what is cordoned after the launch is left to the job for now") {
    at_work t;
    t.all.table().devices().cordon(1, true);
    t.machine.launch().replace_cordoned(t.now);
    CHECK(t.machine.state().devices.held() == device_list{0, 1});
}

TEST_CASE("while it is not known how the devices are no job leaves its own; one without any may come to some") {
    at_work t;
    t.all.add(job_id{2}, short_rules(), 10);
    auto &first = *t.all.find(job_id{1}), &second = *t.all.find(job_id{2});
    t.all.table().freeze("nobody answers");
    CHECK(first.state().why_not() == std::string_view("nobody answers"));
    first.want(1);
    second.want(2);
    t.all.advance(t.now);
    CHECK(first.state().phase == resize_phase::steady);
    CHECK(first.take_orders().empty());
    CHECK(second.state().devices.held() == device_list{2, 3});
    t.all.table().freeze("");
    t.all.advance(t.now);
    CHECK(first.take_orders() == orders{resize_order::save});
}

TEST_CASE("its own failure is no device's, and a clean end is an end") {
    at_work t;
    t.machine.checkpoint(true, t.now);
    CHECK(t.machine.exited(false, false, t.now) == exit_meaning::job_is_over);
    t.all.table().devices().cordon(0, true);
    CHECK(t.machine.exited(true, true, t.now) == exit_meaning::job_is_over);
}

TEST_CASE("without any sound device left it waits in the queue") {
    at_work t;
    t.machine.checkpoint(true, t.now);
    for (std::uint32_t device = 0; device < 4; ++device) t.all.table().devices().cordon(device, true);
    REQUIRE(t.machine.exited(false, false, t.now) == exit_meaning::part_of_resize);
    t.machine.cleared(t.now);
    CHECK(t.machine.state().phase == resize_phase::queued);
    t.all.advance(t.now);
    CHECK(t.orders().empty());
    CHECK(t.machine.state().devices.wanted() == 0);  // there is nothing that it could be promised
    t.all.table().devices().cordon(3, false);
    t.all.table().devices().cordon(2, false);
    t.want(2);
    CHECK(t.machine.state().devices.held() == device_list{2, 3});
}

TEST_CASE("a rank may see fewer devices than the job has, and no others") {
    at_work t;
    t.machine.launch().hello_of(1, "cpu-1", t.now);
    t.machine.launch().hello_of(1, "", t.now);
    t.machine.launch().hello_of(1, "cpu-1,cpu-0", t.now);
    CHECK(t.orders().empty());
    t.machine.launch().hello_of(1, "cpu-1,cpu-", t.now);
    CHECK(t.orders() == orders{resize_order::refuse});
    CHECK(t.machine.state().outbox.why() == "its rank 1 sees the device cpu- and was given cpu-0,cpu-1");
}

TEST_CASE("who says later that it sees others is not believed either; who is to end is not asked") {
    at_work t;
    t.machine.launch().hello(true, 2, "cpu-0,cpu-3", t.now);
    CHECK(t.orders() == orders{resize_order::refuse});
    t.machine.finish();
    t.machine.launch().hello_of(1, "cpu-3", t.now);
    CHECK(t.orders().empty());
}

TEST_CASE("a change in whose middle the job is to end is not gone on with") {
    at_work t;
    t.want(1);
    REQUIRE(t.orders() == orders{resize_order::save});
    t.machine.finish();
    t.all.advance(t.now + seconds(1000));
    t.machine.checkpoint(true, t.now);
    t.machine.command_failed("it does not obey", t.now);
    CHECK(t.orders().empty());
    CHECK(t.machine.state().phase == resize_phase::saving);
    CHECK(t.machine.exited(true, false, t.now) == exit_meaning::job_is_over);
}

TEST_CASE("who is to get the devices of a job that is asked to stop waits for them") {
    at_work t;
    t.all.add(job_id{2}, short_rules(), 10);
    auto& first = *t.all.find(job_id{1});
    auto& second = *t.all.find(job_id{2});
    first.finish();
    second.want(4);
    t.all.advance(t.now);
    CHECK(second.state().devices.wanted() == 4);
    CHECK(second.take_notes().empty());
    first.ended(true, t.now);
    t.all.advance(t.now);
    CHECK(second.state().devices.held() == device_list{0, 1, 2, 3});
}

TEST_CASE("what its hello proves is said with its size") {
    for (bool const reports : {true, false}) {
        std::vector<std::string> const devices = names(1);
        elastic_jobs all{devices};
        all.add(job_id{1}, short_rules(), 10);
        auto& machine = *all.find(job_id{1});
        machine.want(1);
        all.advance(seconds(1));
        machine.launch().made(seconds(1));
        machine.launch().hello(true, 1, reports ? "cpu-0" : "", seconds(1));
        auto const notes = machine.take_notes();
        REQUIRE(!notes.empty());
        CHECK(notes.back().what == resize_step::settled);
        CHECK(notes.back().why == (reports ? "verified" : ""));
    }
}
