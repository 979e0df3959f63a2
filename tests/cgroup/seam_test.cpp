// SPDX-License-Identifier: BSL-1.0
// The tools around the seam themselves: recording, making the same calls again, injecting; and errors that no real
// machine gives.
#include <ration/cgroup/own_quota.hpp>

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

TEST_CASE("own_quota: the quota of the own group") {
    for (auto const which : {flavour::v1, flavour::hybrid, flavour::v2}) {
        INFO(name_of(which));
        bool const v2 = which == flavour::v2;
        model machine(which, 4, "pod");
        std::string const root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
        auto const limit = [&](std::string const& group, char const* quota, char const* period) {
            auto const place = directory::open(machine, root + group);
            REQUIRE(place);
            auto const files = v2 ? std::pair("cpu.max", std::string(quota) + ' ' + period)
                                  : std::pair("cpu.cfs_quota_us", std::string(quota));
            if (!v2) REQUIRE(place->write("cpu.cfs_period_us", period));
            REQUIRE(place->write(files.first, files.second));
        };
        CHECK(own_quota(machine).count == unlimited);
        limit("/pod", "300000", "200000");
        CHECK(own_quota(machine) == millicores{1500});
        limit("/pod", "5000", "10000");
        CHECK(own_quota(machine) == millicores{500});
    }
    model without(flavour::v1);
    fault_injector calls(without);
    calls.arm({.at = 0, .error = ENOENT, .lasting = true});
    CHECK(own_quota(calls).count == unlimited);
}

TEST_CASE("a value that another program changes after apply is not verified, and undo restores the old one") {
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
    CHECK(groups->apply(ops.at(0)));
    auto const verified = groups->verify(ops.at(0));
    REQUIRE(calls.kind() == call_kind::read);
    REQUIRE_FALSE(verified);
    CHECK(verified.failure().code == errc::unverified);
    CHECK(verified.failure().subject.view().ends_with("/vae/cpu.max"));
    CHECK_FALSE(std::string_view(verified.failure().remedy).empty());
    calls.arm({.at = 1, .happening = [&] { static_cast<void>(other->write("cpu.max", "78000")); }});
    CHECK(groups->undo(ops.at(0)).failure().code == errc::unverified);
    calls.disarm();
    CHECK(groups->undo(ops.at(0)));
    std::string text;
    CHECK(other->read("cpu.max", text).value_or("") == "max 100000");
}

TEST_CASE("a limit outside of a plan is read back where it is written") {
    for (auto const which : {flavour::v1, flavour::v2}) {
        model machine(which);
        fault_injector calls(machine);
        auto groups = backend::open(calls, {.name = "test", .cpus = {}});
        REQUIRE(groups);
        REQUIRE(groups->add({1}, "vae"));
        bool const v2 = which == flavour::v2;
        auto const cpu = groups->run().place_of(controller::cpu)->child("vae");
        auto const memory = groups->run().place_of(controller::memory)->child("vae");
        REQUIRE((cpu && memory));
        char const* const shares = v2 ? "cpu.weight" : "cpu.shares";
        calls.arm({.at = 1, .happening = [&] { static_cast<void>(cpu->write(shares, "77")); }});
        CHECK(groups->set({1}, *weight::of(400)).failure().code == errc::unverified);
        CHECK(calls.kind() == call_kind::read);
        char const* const limit = memory_file(*memory);
        calls.arm({.at = v2 ? 2U : 1U, .happening = [&] { static_cast<void>(memory->write(limit, "8192")); }});
        CHECK(groups->set({1}, memory_limit()).failure().code == errc::unverified);
        CHECK(calls.kind() == call_kind::read);
        calls.disarm();
        CHECK(groups->set({1}, memory_limit()));
    }
}

namespace {

// How often a file was read and written, as `reads/writes`.
std::string traffic(recorder const& calls, std::string_view file) {
    auto const count = [&](call_kind kind) {
        return std::ranges::count_if(calls.log(),
                                     [&](recorded const& each) { return each.kind == kind && each.name == file; });
    };
    return std::to_string(count(call_kind::read)) + "/" + std::to_string(count(call_kind::write));
}

// One grant as an engine puts it into force.
void carry_out(backend& groups, resource_id resource, std::int64_t amount) {
    ration::plan<operation> ops;
    REQUIRE(groups.plan({.job = {1}, .node = 0, .resource = resource, .amount = amount}, ops));
    for (operation const& op : ops) {
        CHECK(groups.apply(op));
        CHECK(groups.verify(op));
    }
}

}  // namespace

TEST_CASE("a change reads its file once to plan and once to verify, and writes it once") {
    for (auto const which : {flavour::v1, flavour::v2}) {
        model machine(which);
        recorder calls(machine);
        auto groups = backend::open(calls, {.name = "test", .cpus = {}});
        REQUIRE(groups);
        REQUIRE(groups->add({1}, "vae"));
        REQUIRE(groups->place({1}, machine.spawn()));
        bool const v2 = which == flavour::v2;
        INFO(name_of(which));

        calls.clear();
        carry_out(*groups, resource_id::cpu, 500);
        CHECK(traffic(calls, v2 ? "cpu.max" : "cpu.cfs_quota_us") == "2/1");
        CHECK(traffic(calls, v2 ? "cgroup.freeze" : "freezer.self_freezing") == "1/0");
        if (!v2) CHECK(traffic(calls, "cpu.cfs_period_us") == "2/0");  // a quota means nothing without it

        calls.clear();
        carry_out(*groups, resource_id::cpu, 500);  // in force already
        CHECK(traffic(calls, v2 ? "cpu.max" : "cpu.cfs_quota_us") == "1/0");

        calls.clear();
        carry_out(*groups, resource_id::cpu, 0);  // the wait for the freeze reads cgroup.events, or freezer.state
        CHECK(traffic(calls, v2 ? "cgroup.freeze" : "freezer.self_freezing") == (v2 ? "2/1" : "2/0"));

        // On v2 the present limit is read once more before the write: a limit below it must not kill
        calls.clear();
        carry_out(*groups, resource_id::memory, 64 << 20);
        CHECK(traffic(calls, v2 ? "memory.max" : "memory.limit_in_bytes") == (v2 ? "3/1" : "2/1"));
    }
}

namespace {

// Reports that processes were moved, and moves none.
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
