// SPDX-License-Identifier: BSL-1.0
// Finding GPUs, against a fake for NVML that is first in the library path and has the GPUs of a script.
#include <algorithm>
#include <string>
#include <vector>

#include <ration/cuda/inventory.hpp>

#include "scene.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;
using ration::test::line;
using ration::test::scene;
using ration::test::uuids;

TEST_CASE("sound GPUs are found with all that is known of them, in the order of the bus") {
    scene const machine(line(1, "0000:b1:00.0", "model=Second memory=42949672960 mode=exclusive") +
                        line(0, "0000:17:00.0", "model=First minor=5 users=4711,4712 links=0000:b1:00.0,0000:b1:00.0"));
    machine.bus_reports("0000:17:00.0", "0\n");
    machine.bus_reports("0000:b1:00.0", "1\n");
    auto const found = machine.probe();
    CHECK_FALSE(found.why_no_nvml);
    REQUIRE(found.gpus.size() == 2);
    auto const &first = found.gpus[0], &second = found.gpus[1];
    CHECK(first.what.id.name() == uuids[0]);
    CHECK(first.what.pci == "0000:17:00.0");
    CHECK(first.what.model == "First");
    CHECK(first.what.numa_node == 0);
    CHECK(first.users == std::vector<std::int32_t>{4711, 4712});
    REQUIRE(first.links.size() == 2);
    CHECK(first.links[0] == second.what.pci);
    CHECK_FALSE(first.exclusive);
    CHECK(second.what.memory.count == std::int64_t{40} << 30);
    CHECK(second.what.numa_node == 1);
    CHECK(second.exclusive);
    CHECK(second.users.empty());
    CHECK(found.sound().size() == 2);
    CHECK((first.minor == 5 && second.minor == -1));
}

TEST_CASE("how near GPUs are to each other") {
    scene const machine(line(0, "0000:17:00.0", "switch=1") + line(1, "0000:31:00.0", "switch=1") +
                        line(2, "0000:4b:00.0", "broken=15") + line(3, "0000:b1:00.0", "switch=2"));
    auto const found = machine.probe();
    REQUIRE(found.gpus.size() == 4);
    auto const sorted = [&found](std::string const& pci) {
        return std::ranges::find(found.gpus, pci, [](found_gpu const& g) { return std::string(g.what.pci.view()); })
            ->near;
    };
    auto const near = sorted("0000:17:00.0");
    REQUIRE(near.size() == 2);  // the broken one is not listed
    CHECK((near[0].pci == "0000:31:00.0" && near[0].over == common_ancestor::one_switch));
    CHECK((near[1].pci == "0000:b1:00.0" && near[1].over == common_ancestor::machine));
}

TEST_CASE("more processes on a GPU than the first question had room for") {
    std::string users = "1";
    for (int pid = 2; pid <= 40; ++pid) users += ',' + std::to_string(pid);
    scene const machine(line(0, "0000:17:00.0", "users=" + users));
    auto const found = machine.probe();
    REQUIRE(found.gpus.size() == 1);
    CHECK(found.gpus[0].users.size() == 40);
    CHECK(found.gpus[0].users.back() == 40);
}

TEST_CASE("broken GPUs hide no others") {
    scene const machine(line(0, "0000:17:00.0") + line(1, "0000:31:00.0", "broken=15") +
                        "gpu uuid=GPU-what pci=0000:4b:00.0\n" + line(3, "0000:b1:00.0") + line(3, "0000:b2:00.0") +
                        line(4, "0000:ca:00.0"));
    machine.module_shows("0000:31:00.0", uuids[1], 7);
    machine.module_shows("0000:17:00.0", uuids[0]);
    auto const found = machine.probe();
    REQUIRE(found.gpus.size() == 6);
    auto const sound = found.sound();
    REQUIRE(sound.size() == 2);
    CHECK(sound[0].id.name() == uuids[0]);
    CHECK(sound[1].id.name() == uuids[4]);

    auto const& lost = found.gpus[1];
    CHECK(lost.what.pci == "0000:31:00.0");
    CHECK(lost.what.id.name() == uuids[1]);
    CHECK(lost.minor == 7);
    REQUIRE(lost.fault);
    CHECK(lost.fault->code == errc::gone);
    CHECK(lost.fault->remedy ==
          std::string("the GPU fell off the bus: reset it or restart the machine; the other GPUs keep working"));
    REQUIRE(found.gpus[2].fault);
    CHECK(found.gpus[2].fault->code == errc::invalid_value);
    for (std::size_t twin : {3u, 4u}) {
        REQUIRE(found.gpus[twin].fault);
        CHECK(found.gpus[twin].fault->code == errc::conflict);
    }
}

TEST_CASE("a GPU that only the kernel module shows is not handed out while NVML speaks of others") {
    scene const machine(line(0, "0000:17:00.0"));
    machine.module_shows("0000:31:00.0", uuids[1]);
    auto const found = machine.probe();
    REQUIRE(found.gpus.size() == 2);
    REQUIRE(found.gpus[1].fault);
    CHECK(found.gpus[1].fault->code == errc::not_found);
    CHECK(found.sound().size() == 1);
}

TEST_CASE("where NVML does not answer the kernel's files do, and the reason is said") {
    struct refusal {
        char const* script;
        errc code;
        char const* remedy;
    };
    for (
        auto const& [script, code, remedy] :
        {refusal{"init 9\n", errc::not_supported, "load the driver's kernel module: modprobe nvidia"},
         refusal{
             "init 12\n", errc::not_supported,
             "the driver's own libraries are missing: install the driver again, or mount all of it into the container"},
         refusal{"init 18\n", errc::conflict,
                 "the driver was updated under a running kernel module: restart the machine"},
         refusal{"init 4\n", errc::denied, "let this user read /dev/nvidiactl and /dev/nvidia*"},
         refusal{"init 999\n", errc::io, "check the output of nvidia-smi"}}) {
        scene const machine(script);
        machine.module_shows("0000:b1:00.0", uuids[1]);
        machine.module_shows("0000:17:00.0", "GPU-" + std::string(32, '?'));
        machine.bus_reports("0000:b1:00.0", "-1\n");
        auto const found = machine.probe();
        REQUIRE(found.why_no_nvml);
        CHECK(found.why_no_nvml->code == code);
        CHECK(found.why_no_nvml->remedy == std::string(remedy));
        REQUIRE(found.gpus.size() == 2);
        REQUIRE(found.gpus[0].fault);
        CHECK(found.gpus[0].fault->remedy ==
              std::string("the driver has not brought this GPU up: check the output of nvidia-smi"));
        CHECK_FALSE(found.gpus[1].fault);
        CHECK(found.gpus[1].what.id.name() == uuids[1]);
        CHECK(found.gpus[1].what.model == "NVIDIA Fake");
        CHECK(found.gpus[1].what.numa_node == -1);
    }
}

TEST_CASE("a machine without a driver is no error but a sentence") {
    auto const none = library::open("libthere-is-no-such-driver.so.1");
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == errc::not_supported);
    CHECK(none.failure().remedy ==
          std::string("install the NVIDIA driver, or run jobs that need no GPU: nothing else is missing"));
    scene const machine("init 9\n");
    CHECK(machine.probe().gpus.empty());
}

TEST_CASE("instances of a GPU that is cut") {
    scene const machine(
        line(0, "0000:17:00.0") +
        "mig uuid=MIG-00000000-0000-4000-8000-00000000000a gi=3 ci=1\nmig uuid=MIG-old/1/0\nmig uuid=MIG-00000000-0000-4000-8000-00000000000b\n" +
        line(1, "0000:31:00.0", "mode=mig") + line(2, "0000:4b:00.0"));
    auto const found = machine.probe();
    REQUIRE(found.gpus.size() == 3);
    CHECK(found.gpus[0].what.cut);
    REQUIRE(found.gpus[0].what.instances.size() == 2);
    CHECK(found.gpus[0].what.instances[1].name() == "MIG-00000000-0000-4000-8000-00000000000b");
    REQUIRE(found.gpus[0].numbers.size() == 2);
    CHECK((found.gpus[0].numbers[0].gpu_instance == 3 && found.gpus[0].numbers[0].compute_instance == 1));
    CHECK((found.gpus[0].numbers[1].gpu_instance == -1 && found.gpus[0].numbers[1].compute_instance == -1));
    CHECK(found.gpus[1].what.cut);
    CHECK(found.gpus[1].what.instances.empty());
    CHECK_FALSE(found.gpus[2].what.cut);
}
