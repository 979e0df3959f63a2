// SPDX-License-Identifier: BSL-1.0
// Device files that a job under a mask shall not open.
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <ration/cuda/device_files.hpp>

#include "scene.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::cuda;
using ration::test::line;
using ration::test::scene;
using files = std::vector<device_file>;

namespace {

std::string const mig_a = "MIG-00000000-0000-4000-8000-00000000000a",
                  mig_b = "MIG-00000000-0000-4000-8000-00000000000b";

[[nodiscard]] device_file_numbers usual() {
    return {
        .gpus = 195,
        .capabilities = 236,
        .mig_minors =
            "config 1\nmonitor 2\ngpu3/gi1/access 30\ngpu3/gi1/ci0/access 31\ngpu3/gi11/ci0/access 40\ngpu3/gi2/access 33\ngpu3/gi2/ci0/access 34\n"};
}

[[nodiscard]] device_mask mask_of(inventory const& found, std::vector<std::string> const& names) {
    auto const sound = found.sound();
    std::vector<device_id> chosen;
    for (auto const& name : names) chosen.push_back(device_id::parse(name).value());
    return device_mask::of(chosen, visible_devices(sound, std::nullopt)).value();
}

}  // namespace

TEST_CASE("the kernel's list of devices") {
    auto const folder = std::filesystem::temp_directory_path() / ("ration-files-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto const numbers = [&folder](char const* devices) {
        std::ofstream(folder / "devices") << devices;
        std::ofstream(folder / "minors") << "gpu0/gi1/access 12\n";
        return find_device_files({.devices = folder / "devices", .mig_minors = folder / "minors"});
    };
    auto const usual = numbers(
        "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n236 nvidia-caps\n508 nvidia-uvm\n\nBlock devices:\n  7 nvidia-caps\n");
    CHECK((usual.gpus == 195 && usual.capabilities == 236 && usual.mig_minors == "gpu0/gi1/access 12\n"));
    auto const older = numbers("Character devices:\n195 nvidia-frontend\n\nBlock devices:\n236 nvidia-caps\n");
    CHECK((older.gpus == 195 && !older.capabilities));
    CHECK_FALSE(numbers("").gpus);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a job is kept from all GPUs but its own, and from other instances of a GPU of which it has one") {
    scene const machine(line(0, "0000:17:00.0", "minor=1") + line(1, "0000:31:00.0", "minor=0") +
                        line(2, "0000:4b:00.0", "broken=15") + line(3, "0000:98:00.0", "minor=3") +
                        "mig uuid=" + mig_a + " gi=1 ci=0\nmig uuid=" + mig_b + " gi=2 ci=0\n");
    machine.module_shows("0000:4b:00.0", ration::test::uuids[2], 2);
    auto const found = machine.probe();
    CHECK(*files_to_deny(found.gpus, mask_of(found, {ration::test::uuids[0]}), usual()) ==
          files{{195, 0}, {195, 2}, {195, 3}});
    CHECK(*files_to_deny(found.gpus, mask_of(found, {ration::test::uuids[1], ration::test::uuids[0]}), usual()) ==
          files{{195, 2}, {195, 3}});
    CHECK(*files_to_deny(found.gpus, device_mask(), usual()) == files{{195, 1}, {195, 0}, {195, 2}, {195, 3}});
    CHECK(*files_to_deny(found.gpus, mask_of(found, {mig_a}), usual()) ==
          files{{195, 1}, {195, 0}, {195, 2}, {236, 34}});
    CHECK(*files_to_deny(found.gpus, mask_of(found, {mig_b}), usual()) ==
          files{{195, 1}, {195, 0}, {195, 2}, {236, 31}});

    auto numbers = usual();
    numbers.mig_minors.clear();
    CHECK(files_to_deny(found.gpus, mask_of(found, {mig_a}), numbers).failure().code == errc::not_found);
    CHECK(files_to_deny(found.gpus, mask_of(found, {ration::test::uuids[0]}), numbers));
    CHECK(files_to_deny(found.gpus, device_mask(), device_file_numbers{}).failure().code == errc::not_found);
}

TEST_CASE("a GPU whose device file is not known cannot be kept from anybody") {
    scene const machine(line(0, "0000:17:00.0", "minor=0") + line(1, "0000:31:00.0"));
    auto const found = machine.probe();
    auto const denied = files_to_deny(found.gpus, mask_of(found, {ration::test::uuids[0]}), usual());
    REQUIRE_FALSE(denied);
    CHECK(denied.failure().subject == "0000:31:00.0");
    CHECK(*files_to_deny(found.gpus, mask_of(found, {ration::test::uuids[1]}), usual()) == files{{195, 0}});
    scene const other(line(0, "0000:17:00.0", "minor=0") + line(1, "0000:31:00.0", "broken=15"));
    CHECK(*files_to_deny(other.probe().gpus, device_mask(), usual()) ==
          files{{195, 0}});  // one that fell off the bus has nothing to open
}
