// SPDX-License-Identifier: BSL-1.0
// Device files that a job may not open, and device memory, on the model.
#include <array>
#include <map>
#include <string>
#include <vector>

#include <ration/cgroup/detail/devices.hpp>
#include <ration/cgroup/detail/filter.hpp>
#include <ration/cgroup/device_filter.hpp>
#include <ration/cgroup/dmem.hpp>
#include <ration/cgroup/orphans.hpp>

#include "support/catch.hpp"
#include "support/cgroup/model.hpp"

using namespace ration;
using namespace ration::cgroup;

namespace {

constexpr device_number gpu_0{195, 0}, gpu_1{195, 1}, zero{1, 5};

[[nodiscard]] model machine_with_devices() { return model(flavour::v1); }

/// A machine whose v2 files of device memory say this; `dmem` is in no version of the model's kernel.
class with_dmem final : public filter {
    std::map<std::string, std::string, std::less<>> files_;

public:
    with_dmem(io& inner, std::map<std::string, std::string, std::less<>> files)
        : filter(inner), files_(std::move(files)) {}
    std::string written;

protected:
    int after(call const& what, answer const& got) noexcept override {
        auto const found = files_.find(what.name);
        if (what.kind == call_kind::write && what.name == "dmem.max") {
            written = what.text;
            return 0;
        }
        if (what.kind != call_kind::read || found == files_.end()) return got.failed;
        *got.text = found->second;
        return 0;
    }
};

}  // namespace

TEST_CASE("a line of devices.list is read as the kernel means it") {
    CHECK(detail::allows("a *:* rwm", gpu_0));
    CHECK(detail::allows("c 195:0 rw", gpu_0));
    CHECK(detail::allows("c 195:* rwm", gpu_1));
    CHECK(detail::allows("c *:1 m", gpu_1));
    for (char const* other :
         {"c 195:1 rwm", "b 195:0 rwm", "c 19:0 rwm", "c 195: rwm", "c 195 0", "", "c", ":", "c 195:00x rwm"})
        CHECK_FALSE(detail::allows(other, gpu_0));
}

TEST_CASE("devices are denied one by one, and the group goes away again") {
    auto machine = machine_with_devices();
    machine.mount_devices();
    auto& root = *machine.machine().hierarchies.back()->root;
    {
        auto const guard = device_guard::create(machine, "job-1");
        REQUIRE(guard);
        CHECK(guard->path() == "/sys/fs/cgroup/devices/job-1");
        CHECK(guard->deny(std::array{gpu_0, gpu_1}));
        auto const& node = *root.children.at("job-1");
        CHECK(node.device_exceptions == std::vector<std::string>{"c 195:0 rwm", "c 195:1 rwm"});
        CHECK(guard->allow(gpu_0));
        CHECK(node.device_exceptions == std::vector<std::string>{"c 195:1 rwm"});
        int const pid = machine.spawn();
        CHECK(guard->place(pid));
        CHECK(guard->place(4'000'000).failure().code == errc::not_found);
        CHECK(device_guard::create(machine, "job-1").failure().code == errc::already_exists);
        CHECK(device_guard::create(machine, "../job").failure().code == errc::invalid_value);
        machine.machine().die(pid);
    }
    CHECK(root.children.empty());
}

TEST_CASE("guards of dead runs are removed, those of living ones and those with processes stay") {
    auto machine = machine_with_devices();
    machine.mount_devices();
    auto& root = *machine.machine().hierarchies.back()->root;
    auto const self = self_as_owner(machine);
    REQUIRE(self);
    auto const of = [&](char const* job, std::uint64_t later) {
        return group_name_of({job, {self->pid, self->started + later, self->pid_namespace}});
    };
    std::string const dead = of("dead", 1), busy = of("busy", 1), alive = of("alive", 0);
    auto const found = detail::find_devices_group(machine);
    REQUIRE(found);
    for (auto const& name : {dead, busy, alive, std::string("others")}) REQUIRE(found->first.make(name));
    int const pid = machine.spawn();
    REQUIRE(found->first.child(busy)->write("cgroup.procs", std::to_string(pid)));
    clean_device_guards(machine);
    CHECK_FALSE(root.children.contains(dead));
    for (auto const& name : {busy, alive, std::string("others")}) CHECK(root.children.contains(name));
    machine.machine().die(pid);
    clean_device_guards(machine);
    CHECK_FALSE(root.children.contains(busy));
    model without(flavour::v2);
    clean_device_guards(without);  // there is nothing to clean
}

TEST_CASE("what the group above allows by a pattern cannot be denied by a number, and is not passed over") {
    auto machine = machine_with_devices();
    machine.mount_devices();
    auto& root = *machine.machine().hierarchies.back()->root;
    root.devices_by_default = false;
    root.device_exceptions = {"c 195:* rwm", "c 1:5 rwm"};
    auto const guard = device_guard::create(machine, "job-1");
    REQUIRE(guard);
    CHECK(guard->deny(std::array{gpu_0}).failure().code == errc::unverified);
    CHECK(guard->deny(std::array{zero}));
    CHECK(guard->allow({1, 9}).failure().code == errc::denied);
}

TEST_CASE("without a v1 hierarchy for devices nothing is guarded, and the reason is said") {
    for (auto const which : {flavour::v1, flavour::v2}) {
        model machine(which);
        auto const guard = device_guard::create(machine, "job-1");
        REQUIRE_FALSE(guard);
        CHECK(guard.failure().code == errc::not_supported);
        CHECK(std::string(guard.failure().remedy).find("eBPF") != std::string::npos);
    }
}

TEST_CASE("what can keep jobs from devices is found out by doing it") {
    model with_v1(flavour::hybrid);
    with_v1.mount_devices();
    CHECK(find_device_control(with_v1, "trial").value() == version::v1);  // no kernel behind the model's v2
    model without(flavour::v2);
    CHECK(find_device_control(without, "trial").failure().code == errc::not_supported);
    for (auto const& each : with_v1.machine().hierarchies) CHECK(each->root->children.empty());
    for (auto const& each : without.machine().hierarchies) CHECK(each->root->children.empty());
}

TEST_CASE("a device filter denies what is named and nothing else") {
    // The program as the kernel would run it: registers, and the few instructions it is made of.
    auto const answer = [](std::vector<bpf_insn> const& program, unsigned kind, device_number device) {
        unsigned const context[] = {(2U << 16) | kind, device.major, device.minor};
        std::array<unsigned, 11> r{};
        for (std::size_t at = 0; at < program.size(); ++at) {
            auto const& i = program[at];
            if (i.code == (BPF_JMP | BPF_EXIT)) return r[0];
            if (i.code == (BPF_LDX | BPF_MEM | BPF_W)) r.at(i.dst_reg) = context[static_cast<std::size_t>(i.off) / 4];
            if (i.code == (BPF_ALU64 | BPF_AND | BPF_K)) r.at(i.dst_reg) &= static_cast<unsigned>(i.imm);
            if (i.code == (BPF_ALU64 | BPF_MOV | BPF_K)) r.at(i.dst_reg) = static_cast<unsigned>(i.imm);
            if (i.code == (BPF_JMP32 | BPF_JNE | BPF_K) && r.at(i.dst_reg) != static_cast<unsigned>(i.imm))
                at += static_cast<std::size_t>(i.off);
        }
        return 99U;
    };
    auto const program = detail::device_program(std::array{gpu_0, gpu_1, device_number{236, 34}});
    for (unsigned major = 190; major < 240; ++major)
        for (unsigned minor = 0; minor < 40; ++minor) {
            device_number const device{major, minor};
            bool const denied = device == gpu_0 || device == gpu_1 || device == device_number{236, 34};
            REQUIRE(answer(program, BPF_DEVCG_DEV_CHAR, device) == (denied ? 0U : 1U));
            REQUIRE(answer(program, BPF_DEVCG_DEV_BLOCK, device) == 1U);
        }
    CHECK(answer(detail::device_program({}), BPF_DEVCG_DEV_CHAR, gpu_0) == 1U);
    model machine(flavour::v2);
    CHECK(device_filter::deny(*directory::open(machine, "/sys/fs/cgroup"), std::array{gpu_0}).failure().code ==
          errc::not_supported);  // no kernel behind it
}

TEST_CASE("the text of dmem files") {
    auto const lines = parse_dmem("drm/0000:03:00.0/vram0 8514437120\nnvidia/00000000:17:00.0/vidmem max\n");
    REQUIRE(lines);
    CHECK(*lines == std::vector<dmem_region>{{"drm/0000:03:00.0/vram0", 8514437120},
                                             {"nvidia/00000000:17:00.0/vidmem", unlimited}});
    CHECK(parse_dmem("")->empty());
    for (char const* wrong : {"vram0", "vram0 ", " 5", "vram0 -5", "vram0 5x", "a 1\nb"})
        CHECK(parse_dmem(wrong).failure().code == errc::invalid_value);
    CHECK(pci_of("nvidia/00000000:17:00.0/vidmem") == "0000:17:00.0");
    CHECK(pci_of("nvidia/00000001:CA:00.0/vidmem") == "0001:ca:00.0");
    CHECK(pci_of("drm/0000:03:00.0/vram0") == "0000:03:00.0");
    for (char const* other : {"", "vram0", "drm/card0", "xe/0000:03:00.0/vram0", "drm/1:2"})
        CHECK(pci_of(other).empty());
}

TEST_CASE("device memory of a machine and of the own group") {
    model inner(flavour::v2, 2, "user.slice");
    with_dmem machine(inner, {{"dmem.capacity", "nvidia/00000000:17:00.0/vidmem 85899345920\n"},
                              {"dmem.current", "nvidia/00000000:17:00.0/vidmem 1048576\n"},
                              {"dmem.max", "nvidia/00000000:17:00.0/vidmem max\n"}});
    auto const found = find_dmem(machine);
    REQUIRE(found);
    CHECK(found->capacity == std::vector<dmem_region>{{"nvidia/00000000:17:00.0/vidmem", 85899345920}});
    CHECK(found->current.at(0).amount == 1048576);
    CHECK(found->most.at(0).amount == unlimited);
    for (auto const which : {flavour::v1, flavour::hybrid, flavour::v2}) {
        model old(which);
        auto const none = find_dmem(old);
        REQUIRE_FALSE(none);
        CHECK(none.failure().code == errc::not_supported);
        CHECK(std::string(none.failure().remedy).find("6.14") != std::string::npos);
    }
}

TEST_CASE("a limit on device memory is written and read back, NVIDIA's by its driver alone") {
    model inner(flavour::v2);
    with_dmem machine(inner, {{"dmem.max", "drm/0000:03:00.0/vram0 4096000\n"}});
    auto const group = directory::open(machine, "/sys/fs/cgroup");
    REQUIRE(group);
    CHECK(set_dmem_max(*group, "drm/0000:03:00.0/vram0", {4096001}));  // rounded down to the driver's page
    CHECK(machine.written == "drm/0000:03:00.0/vram0 4096001");
    CHECK(set_dmem_max(*group, "drm/0000:03:00.0/vram0", {8192000}).failure().code == errc::unverified);
    CHECK(set_dmem_max(*group, "drm/0000:03:00.0/vram0", {unlimited}).failure().code == errc::unverified);
    CHECK(machine.written == "drm/0000:03:00.0/vram0 max");
    CHECK(set_dmem_max(*group, "drm/0000:04:00.0/vram0", {4096000}).failure().code == errc::unverified);
    CHECK(set_dmem_max(*group, "drm/0000:03:00.0/vram0", {-2}).failure().code == errc::out_of_range);
    machine.written.clear();
    auto const nvidia = set_dmem_max(*group, "nvidia/00000000:17:00.0/vidmem", {4096000});
    REQUIRE_FALSE(nvidia);
    CHECK(nvidia.failure().code == errc::not_supported);
    CHECK(machine.written.empty());
    model old(flavour::v2);
    auto const without = directory::open(old, "/sys/fs/cgroup");
    CHECK(set_dmem_max(*without, "drm/0000:03:00.0/vram0", {4096000}).failure().code == errc::not_supported);
}
