// SPDX-License-Identifier: BSL-1.0
// The devices that a job holds against those that it is granted, and the way from one to the other and back.
#include "run/next_devices.hpp"

#include "resize_support.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

/// A job that holds the first two of four devices.
struct job_with_two {
    device_table table{names(4)};
    job_devices devices{job_id{1}, table};
    next_devices next{devices};

    job_with_two() {
        devices.want(2);
        REQUIRE(devices.take());
    }
    void cordon(std::uint32_t device) { table.devices().cordon(device, true); }
    /// Up to its launch with `count` devices.
    void move_to(std::int64_t count) {
        devices.want(count);
        next.plan_wanted();
        REQUIRE(next.hold_planned());
    }
    [[nodiscard]] device_list reserved() const { return table.of(job_id{1}); }
};

}  // namespace

TEST_CASE("job_devices: a job in the queue takes all that it is granted or nothing") {
    device_table table(names(2));
    job_devices devices(job_id{1}, table);
    devices.want(3);
    CHECK_FALSE(devices.take());
    CHECK((devices.held().empty() && table.free() == 2));
    devices.want(2);
    CHECK(devices.take());
    CHECK((devices.size() == 2 && table.free() == 0));
}

TEST_CASE("job_devices: a cordoned device counts for what is held, and not for what can be had") {
    job_with_two t;
    t.devices.want(4);
    CHECK(t.devices.can_have_wanted());
    t.cordon(0);
    CHECK((t.devices.size() == 2 && t.devices.sound() == 1 && t.devices.has_cordoned()));
    CHECK_FALSE(t.devices.can_have_wanted());
    t.devices.want(3);
    CHECK(t.devices.can_have_wanted());
    CHECK(t.devices.choose() == device_list{1, 2, 3});
}

TEST_CASE("job_devices: the most that a job could have are all, or for one that needs memory its own and the free") {
    job_with_two t;
    REQUIRE(t.table.take(job_id{9}, 1).size() == 1);
    CHECK(t.devices.most() == 4);
    t.table.devices().set_memory(std::vector<bytes>(4, bytes{80}));
    t.table.needs(job_id{1}, bytes{40});
    CHECK(t.devices.most() == 3);
    t.cordon(3);
    CHECK(t.devices.most() == 2);
}

TEST_CASE("next_devices: the old and the new devices stay reserved until the job works with the new ones") {
    job_with_two t;
    t.devices.want(1);
    t.next.plan_wanted();
    CHECK((t.next.size() == 1 && t.devices.size() == 2));
    REQUIRE(t.next.hold_planned());
    CHECK(t.devices.held() == device_list{0});
    CHECK((t.next.falls_back() && !t.next.returns() && t.next.old_size() == 2));
    CHECK(t.reserved() == device_list{0, 1});
    CHECK_FALSE(t.next.settle());
    CHECK((!t.next.falls_back() && t.next.old_size() == 0));
    CHECK(t.reserved() == device_list{0});
}

TEST_CASE("next_devices: a roll back is to the old devices, and falls back on nothing") {
    job_with_two t;
    t.move_to(3);
    t.next.plan_roll_back();
    REQUIRE(t.next.hold_planned());
    CHECK(t.devices.held() == device_list{0, 1});
    CHECK((t.next.returns() && !t.next.falls_back()));
    CHECK(t.next.settle());
    CHECK_FALSE(t.next.returns());
    CHECK(t.reserved() == device_list{0, 1});
}

TEST_CASE("next_devices: an aborted resize releases what was reserved for it") {
    job_with_two t;
    t.devices.want(4);
    t.next.plan_wanted();
    CHECK(t.reserved() == device_list{0, 1, 2, 3});
    t.next.abort();
    CHECK((t.next.size() == 0 && t.devices.held() == device_list{0, 1}));
    CHECK(t.reserved() == device_list{0, 1});
}

TEST_CASE("next_devices: a planned device that is cordoned is replaced, or done without") {
    job_with_two t;
    t.next.plan_return();
    t.cordon(1);
    t.cordon(2);
    SECTION("at the launch") { REQUIRE(t.next.hold_planned()); }
    SECTION("after the order to launch") { REQUIRE(t.next.replace_held()); }
    CHECK(t.devices.held() == device_list{0, 3});
    t.cordon(3);
    REQUIRE(t.next.replace_held());
    CHECK(t.devices.held() == device_list{0});
    t.cordon(0);
    CHECK_FALSE(t.next.replace_held());
    CHECK(t.devices.held() == device_list{0});
}

TEST_CASE("next_devices: a retry is with the same devices for a job that returns, and from the queue for another") {
    job_with_two t;
    t.next.plan_retry();
    CHECK_FALSE(t.next.hold_planned());
    t.next.plan_return();
    REQUIRE(t.next.hold_planned());
    t.next.plan_retry();
    CHECK(t.next.size() == 2);
    t.next.release();
    CHECK((t.devices.held().empty() && t.reserved().empty() && !t.next.returns()));
}

TEST_CASE("next_devices: a record has both lists, and their devices are claimed") {
    job_with_two t;
    t.move_to(3);
    t.next.plan_roll_back();
    resize_record record;
    t.next.add_to(record);
    CHECK((record.next == device_list{0, 1} && record.origin == device_list{0, 1}));
    CHECK((record.falls_back && record.returning));
    record.origin = {2, 3};
    device_table table(names(4));
    job_devices devices(job_id{1}, table);
    next_devices next(devices);
    REQUIRE(next.restore(record));
    CHECK((next.size() == 2 && next.old_size() == 2 && next.falls_back() && next.returns()));
    CHECK(table.of(job_id{1}) == device_list{0, 1, 2, 3});
    job_devices others(job_id{2}, table);
    CHECK_FALSE(next_devices(others).restore(record));
}
