// SPDX-License-Identifier: BSL-1.0
// Machines with GPUs as the fake driver (fake_driver/script.hpp) and the kernel's files show them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <ration/cuda/inventory.hpp>

namespace ration::test {

namespace fs = std::filesystem;

inline constexpr char const* uuids[] = {
    "GPU-00000000-0000-4000-8000-000000000000", "GPU-11111111-0000-4000-8000-000000000001",
    "GPU-22222222-0000-4000-8000-000000000002", "GPU-33333333-0000-4000-8000-000000000003",
    "GPU-44444444-0000-4000-8000-000000000004"};

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

    void module_shows(std::string const& pci, std::string const& uuid, int minor = 0) const {
        fs::create_directories(root_ / "module" / pci);
        std::ofstream(root_ / "module" / pci / "information")
            << "Model: \t\t NVIDIA Fake\nIRQ:   \t\t 42\nGPU UUID: \t " << uuid << "\nBus Location: \t " << pci
            << "\nDevice Minor: \t " << minor << '\n';
    }
    void bus_reports(std::string const& pci, std::string const& numa_node) const {
        fs::create_directories(root_ / "bus" / pci);
        std::ofstream(root_ / "bus" / pci / "numa_node") << numa_node;
    }
    [[nodiscard]] cuda::inventory probe() const {
        return cuda::find_gpus({.module = root_ / "module", .bus = root_ / "bus"});
    }
};

[[nodiscard]] inline std::string line(int gpu, std::string const& pci, std::string const& more = "") {
    return std::string("gpu uuid=") + uuids[gpu] + " pci=" + pci + ' ' + more + '\n';
}

}  // namespace ration::test
