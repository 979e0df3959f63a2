// SPDX-License-Identifier: BSL-1.0
// The tools around the seam themselves: recording, making the same calls again, injecting; and errors that no real
// machine gives.
#include "machine.hpp"
#include "support/catch.hpp"
#include "support/cgroup/fault_injector.hpp"
#include "support/cgroup/recorder.hpp"

using namespace cgroup_test;

TEST_CASE("a recorded run can be made again, and a machine that answers otherwise is found") {
    model first(flavour::v2, 4, "user"), same(flavour::v2, 4, "user"), other(flavour::v2, 2, "user");
    recorder calls(first);
    {
        auto groups = backend::open(calls, {.name = "test", .cpus = *cpu_set::parse("3")});
        REQUIRE(groups);
        CHECK(groups->add({1}, "vae"));
        ration::plan<operation> ops;
        CHECK(groups->plan({.job = {1}, .node = 0, .resource = resource_id::cpu, .amount = 500}, ops));
        REQUIRE(ops.size() == 1);
        CHECK(groups->apply(ops[0]));
    }
    CHECK(calls.log().size() > 50);
    std::string const text = calls.print();
    CHECK(text.find("write /sys/fs/cgroup/user/ration-test.1000.4242.4026531836/vae/cpu.max \"50000 100000\" = 0\n") !=
          std::string::npos);
    CHECK(text.find("make /sys/fs/cgroup/user/ration-ctl = 0\n") != std::string::npos);
    CHECK_FALSE(replay(same, calls.log()));
    auto const found = replay(other, calls.log());  // which has no cpu 3
    REQUIRE(found);
    CHECK(calls.log()[found->at].kind == call_kind::read);
}

TEST_CASE("the injector strikes the call it was told to, and only that one") {
    model machine(flavour::v1);
    fault_injector calls(machine);
    auto const own = directory::open(calls, "/sys/fs/cgroup/cpu");
    REQUIRE(own);
    calls.arm({.at = 1, .error = EIO});
    CHECK(own->make("a"));
    CHECK(own->make("b").failure().system == EIO);
    CHECK(own->make("b"));
    CHECK(calls.struck());
    CHECK(calls.name() == "b");
    CHECK(calls.calls() == 3);
    std::string text;
    auto const inside = own->child("a");
    calls.arm({.at = 0, .short_read = true});
    CHECK(inside->read("cpu.cfs_period_us", text).value_or("") == "100");  // of 100000 and a line end
    CHECK(inside->read("cpu.cfs_period_us", text).value_or("") == "100000");
    calls.arm({.at = 0, .error = EBUSY, .lasting = true});
    CHECK(own->remove("a").failure().system == EBUSY);
    CHECK(own->remove("b"));
    CHECK(own->remove("a").failure().system == EBUSY);
    calls.disarm();
    CHECK(own->remove("a"));
}

TEST_CASE("EBUSY that lasts ends at the deadline, and the job can still be removed later") {
    model machine(flavour::v2);
    fault_injector calls(machine);
    auto groups = backend::open(calls, {.name = "test", .cpus = {}});
    REQUIRE(groups);
    REQUIRE(groups->add({1}, "vae"));
    // Before the rmdir of an empty job come four calls: is it populated, open, identify, list.
    calls.arm({.at = 4, .error = EBUSY, .lasting = true});
    auto const before = machine.now();
    auto const removed = groups->remove({1});
    auto const waited = machine.now() - before;
    REQUIRE(calls.kind() == call_kind::remove);
    REQUIRE_FALSE(removed);
    CHECK(removed.failure().code == errc::busy);
    CHECK(waited >= group::patience);
    CHECK(waited < seconds(10));
    calls.disarm();
    CHECK(groups->remove({1}));
}

TEST_CASE("without permission for one controller the others work, and the remedy is told") {
    model machine(flavour::v1);
    fault_injector calls(machine);
    for (std::size_t at = 0;; ++at) {
        calls.arm({.at = at, .error = EACCES});
        auto const found = tree::discover(calls);
        REQUIRE(calls.struck());
        bool const memory = found && calls.kind() == call_kind::make && !found->has(controller::memory);
        if (memory) {
            error const& why = found->owner(controller::memory).why;
            CHECK(why.code == errc::denied);
            CHECK(std::string_view(why.remedy).find("root") != std::string_view::npos);
            CHECK(found->has(controller::cpu));
            CHECK(found->has(controller::cpuset));
            return;
        }
        REQUIRE(at < 200);
    }
}

TEST_CASE("a value that another program changes between our write and our look is told, and the old one comes back") {
    model machine(flavour::v2);
    fault_injector calls(machine);
    auto groups = backend::open(calls, {.name = "test", .cpus = {}});
    REQUIRE(groups);
    REQUIRE(groups->add({1}, "vae"));
    ration::plan<operation> ops;
    REQUIRE(groups->plan({.job = {1}, .node = 0, .resource = resource_id::cpu, .amount = 500}, ops));
    auto const other = groups->run().place_of(controller::cpu)->child("vae");
    REQUIRE(other);
    calls.arm({.at = 1, .happening = [&] { static_cast<void>(other->write("cpu.max", "77000")); }});
    auto const applied = groups->apply(ops.at(0));
    REQUIRE(calls.kind() == call_kind::read);
    REQUIRE_FALSE(applied);
    CHECK(applied.failure().code == errc::unverified);
    CHECK_FALSE(std::string_view(applied.failure().remedy).empty());
    calls.disarm();
    std::string text;
    CHECK(other->read("cpu.max", text).value_or("") == "max 100000");
}

namespace {

// Says that processes were moved, and moves none.
class unmoved final : public filter {
    std::string name_ = "cgroup.procs";

public:
    using filter::filter;
    int write(int directory, char const* file, std::string_view text) noexcept override {
        return file == name_ ? 0 : filter::write(directory, file, text);
    }
};

}  // namespace

TEST_CASE("a process that the kernel does not show in the group was not placed, whatever the write said") {
    model machine(flavour::hybrid);
    unmoved calls(machine);
    auto groups = backend::open(calls, {.name = "test", .cpus = {}});
    REQUIRE(groups);
    REQUIRE(groups->add({1}, "vae"));
    auto const placed = groups->place({1}, machine.spawn());
    REQUIRE_FALSE(placed);
    CHECK(placed.failure().code == errc::unverified);
}

namespace {

// Every directory turns out to be of some other file system.
class overmounted final : public filter {
public:
    using filter::filter;
    int identify(int directory, identity& who) noexcept override {
        int const failed = filter::identify(directory, who);
        who.kind = version::none;
        return failed;
    }
};

}  // namespace

TEST_CASE("a directory that something else is mounted over is not taken for a hierarchy") {
    model machine(flavour::hybrid);
    overmounted calls(machine);
    auto const found = tree::discover(calls);
    REQUIRE(found);
    CHECK(found->branches().empty());
    CHECK(found->owner(controller::cpu).why.code == errc::namespace_mismatch);
    CHECK(found->owner(controller::core).why.code == errc::namespace_mismatch);
    CHECK_FALSE(backend::open(calls, {.name = "test", .cpus = {}}));
}
