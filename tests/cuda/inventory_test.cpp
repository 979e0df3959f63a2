// SPDX-License-Identifier: BSL-1.0
// Finding GPUs, against a stand-in for NVML that is first in the library path and has the GPUs of a script.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <ration/cuda/inventory.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;
namespace fs = std::filesystem;

namespace {

constexpr char const* uuids[] = {"GPU-00000000-0000-4000-8000-000000000000", "GPU-11111111-0000-4000-8000-000000000001", "GPU-22222222-0000-4000-8000-000000000002",
                                 "GPU-33333333-0000-4000-8000-000000000003", "GPU-44444444-0000-4000-8000-000000000004"};

/// What the driver and the kernel show of one machine.
class scene {
    fs::path root_ = fs::temp_directory_path() / ("ration-gpus-" + std::to_string(::getpid()));

public:
    explicit scene(std::string const& script) {
        fs::create_directories(root_ / "module");
        fs::create_directories(root_ / "bus");
        std::ofstream(root_ / "script") << script;
        ::setenv("RATION_STAND_IN_GPUS", (root_ / "script").c_str(), 1);
    }
    ~scene() { fs::remove_all(root_); }
    scene(scene const&) = delete;
    scene& operator=(scene const&) = delete;

    void module_shows(std::string const& pci, std::string const& uuid) const {
        fs::create_directories(root_ / "module" / pci);
        std::ofstream(root_ / "module" / pci / "information") << "Model: \t\t NVIDIA Stand-in\nIRQ:   \t\t 42\nGPU UUID: \t " << uuid << "\nBus Location: \t " << pci << '\n';
    }
    void bus_says(std::string const& pci, std::string const& numa_node) const {
        fs::create_directories(root_ / "bus" / pci);
        std::ofstream(root_ / "bus" / pci / "numa_node") << numa_node;
    }
    [[nodiscard]] inventory look() const { return find_gpus({.module = root_ / "module", .bus = root_ / "bus"}); }
};

[[nodiscard]] std::string line(int gpu, std::string const& pci, std::string const& more = "") {
    return std::string("gpu uuid=") + uuids[gpu] + " pci=" + pci + ' ' + more + '\n';
}

}  // namespace

TEST_CASE("sound GPUs are found with all that is known of them, in the order of the bus") {
    scene const machine(line(1, "0000:b1:00.0", "model=Second memory=42949672960 mode=exclusive") +
                        line(0, "0000:17:00.0", "model=First users=4711,4712 links=0000:b1:00.0,0000:b1:00.0"));
    machine.bus_says("0000:17:00.0", "0\n");
    machine.bus_says("0000:b1:00.0", "1\n");
    auto const found = machine.look();
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
}

TEST_CASE("more processes on a GPU than the first question had room for") {
    std::string users = "1";
    for (int pid = 2; pid <= 40; ++pid) users += ',' + std::to_string(pid);
    scene const machine(line(0, "0000:17:00.0", "users=" + users));
    auto const found = machine.look();
    REQUIRE(found.gpus.size() == 1);
    CHECK(found.gpus[0].users.size() == 40);
    CHECK(found.gpus[0].users.back() == 40);
}

TEST_CASE("broken GPUs hide no others") {
    scene const machine(line(0, "0000:17:00.0") + line(1, "0000:31:00.0", "broken=15") + "gpu uuid=GPU-what pci=0000:4b:00.0\n" + line(3, "0000:b1:00.0") +
                        line(3, "0000:b2:00.0") + line(4, "0000:ca:00.0"));
    machine.module_shows("0000:31:00.0", uuids[1]);
    machine.module_shows("0000:17:00.0", uuids[0]);
    auto const found = machine.look();
    REQUIRE(found.gpus.size() == 6);
    auto const sound = found.sound();
    REQUIRE(sound.size() == 2);
    CHECK(sound[0].id.name() == uuids[0]);
    CHECK(sound[1].id.name() == uuids[4]);

    auto const& lost = found.gpus[1];
    CHECK(lost.what.pci == "0000:31:00.0");
    CHECK(lost.what.id.name() == uuids[1]);
    REQUIRE(lost.fault);
    CHECK(lost.fault->code == errc::gone);
    CHECK(lost.fault->remedy == std::string("the GPU fell off the bus: reset it or restart the machine; the other GPUs go on"));
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
    auto const found = machine.look();
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
    for (auto const& [script, code, remedy] : {refusal{"init 9\n", errc::not_supported, "load the driver's kernel module: modprobe nvidia"},
                                               refusal{"init 18\n", errc::conflict, "the driver was updated under a running kernel module: restart the machine"},
                                               refusal{"init 4\n", errc::denied, "let this user read /dev/nvidiactl and /dev/nvidia*"},
                                               refusal{"init 999\n", errc::io, "see what nvidia-smi says"}}) {
        scene const machine(script);
        machine.module_shows("0000:b1:00.0", uuids[1]);
        machine.module_shows("0000:17:00.0", "GPU-" + std::string(32, '?'));
        machine.bus_says("0000:b1:00.0", "-1\n");
        auto const found = machine.look();
        REQUIRE(found.why_no_nvml);
        CHECK(found.why_no_nvml->code == code);
        CHECK(found.why_no_nvml->remedy == std::string(remedy));
        REQUIRE(found.gpus.size() == 2);
        REQUIRE(found.gpus[0].fault);
        CHECK(found.gpus[0].fault->remedy == std::string("the driver has not brought this GPU up: see what nvidia-smi says"));
        CHECK_FALSE(found.gpus[1].fault);
        CHECK(found.gpus[1].what.id.name() == uuids[1]);
        CHECK(found.gpus[1].what.model == "NVIDIA Stand-in");
        CHECK(found.gpus[1].what.numa_node == -1);
    }
}

TEST_CASE("a machine without a driver is no error but a sentence") {
    auto const none = library::open("libthere-is-no-such-driver.so.1");
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == errc::not_supported);
    CHECK(none.failure().remedy == std::string("install the NVIDIA driver, or run jobs that need no GPU: nothing else is missing"));
    scene const machine("init 9\n");
    CHECK(machine.look().gpus.empty());
}

TEST_CASE("instances of a GPU that is cut") {
    scene const machine(line(0, "0000:17:00.0") + "mig uuid=MIG-00000000-0000-4000-8000-00000000000a\nmig uuid=MIG-old/1/0\nmig uuid=MIG-00000000-0000-4000-8000-00000000000b\n" +
                        line(1, "0000:31:00.0", "mode=mig") + line(2, "0000:4b:00.0"));
    auto const found = machine.look();
    REQUIRE(found.gpus.size() == 3);
    CHECK(found.gpus[0].what.cut);
    REQUIRE(found.gpus[0].what.instances.size() == 2);
    CHECK(found.gpus[0].what.instances[1].name() == "MIG-00000000-0000-4000-8000-00000000000b");
    CHECK(found.gpus[1].what.cut);
    CHECK(found.gpus[1].what.instances.empty());
    CHECK_FALSE(found.gpus[2].what.cut);
}
