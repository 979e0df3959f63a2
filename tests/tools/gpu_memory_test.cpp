// SPDX-License-Identifier: BSL-1.0
// gpu_memory as a limit: on the model's dmem, and with a fake for nvidia-smi.
#include "run/gpu_memory.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <ration/cgroup/backend.hpp>

#include "support/catch.hpp"
#include "support/cgroup/model.hpp"

using namespace ration;
using namespace ration::program;
using ration::cgroup::controller;
using ration::cgroup::flavour;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30U;
constexpr char const *other_drivers = "drm/0000:03:00.0/vram0", *nvidias = "nvidia/00000000:17:00.0/vidmem";
constexpr job_id job{1};

[[nodiscard]] gpu_memory_limit limit_on(char const* pci, std::int64_t most) {
    return {.gpus = {{*cuda::device_id::parse("GPU-00000000-0000-4000-8000-000000000001"), text<16>(pci)}},
            .most = {most}};
}

/// A machine with both, and a run with one job.
struct scene {
    cgroup::model machine{flavour::v2, 2, "user.slice"};
    std::optional<cgroup::backend> groups;
    cgroup::directory const* group = nullptr;

    scene() {
        machine.add_dmem(other_drivers, 8 * gib);
        machine.add_dmem(nvidias, 80 * gib);
        auto opened = cgroup::backend::open(machine, {.name = "run", .cpus = {}});
        REQUIRE(opened);
        groups.emplace(std::move(opened).value());
        REQUIRE(groups->add(job, "a"));
        group = *groups->place_of(job, controller::dmem);
        REQUIRE(group != nullptr);
    }
    [[nodiscard]] std::string limits() const {
        std::string out;
        return std::string(group->read("dmem.max", out).value_or("nothing"));
    }
};

/// The first program of this name in PATH, as long as it lives.
class fake_driver {
    fs::path folder_ = fs::temp_directory_path() / ("ration-smi-" + std::to_string(::getpid()));
    std::string path_ = std::getenv("PATH");

public:
    explicit fake_driver(std::string const& script) {
        fs::create_directories(folder_);
        std::ofstream(folder_ / "nvidia-smi") << "#!/bin/sh\necho \"$@\" > " << (folder_ / "asked").string() << '\n'
                                              << script << '\n';
        fs::permissions(folder_ / "nvidia-smi", fs::perms::owner_all);
        ::setenv("PATH", (folder_.string() + ':' + path_).c_str(), 1);
    }
    ~fake_driver() {
        ::setenv("PATH", path_.c_str(), 1);
        fs::remove_all(folder_);
    }
    fake_driver(fake_driver const&) = delete;
    fake_driver& operator=(fake_driver const&) = delete;
    [[nodiscard]] std::string asked() const {
        std::string line;
        std::ifstream in(folder_ / "asked");
        std::getline(in, line);
        return line;
    }
};

}  // namespace

TEST_CASE("gpu_memory: becomes dmem.max of the job's group, of its GPUs alone") {
    scene s;
    CHECK(limit_gpu_memory(s.machine, *s.group, limit_on("0000:03:00.0", 4 * gib)));
    CHECK(s.limits() == "drm/0000:03:00.0/vram0 4294967296\nnvidia/00000000:17:00.0/vidmem max");
    CHECK(s.groups->remove(job));
    REQUIRE(s.groups->add(job, "a"));  // the next launch: another group, whose limits are set again
    s.group = *s.groups->place_of(job, controller::dmem);
    CHECK(s.limits() == "drm/0000:03:00.0/vram0 max\nnvidia/00000000:17:00.0/vidmem max");
    s.groups.reset();
    auto const& own = *s.machine.machine().hierarchies.front()->root->children.at("user.slice");
    CHECK(own.children.empty());
    CHECK_FALSE(own.handed_down.contains(controller::dmem));
}

TEST_CASE("gpu_memory: NVIDIA's driver is told by nvidia-smi, and what it did is looked at") {
    scene s;
    fake_driver const smi("exit 0");
    auto const blind = limit_gpu_memory(s.machine, *s.group, limit_on("0000:17:00.0", 40 * gib + 5));
    REQUIRE_FALSE(blind);
    CHECK(blind.failure().code == errc::unverified);  // nvidia-smi succeeds, and the kernel shows no limit
    CHECK(smi.asked() ==
          "memory-limits -i GPU-00000000-0000-4000-8000-000000000001 -n " + s.group->path() + " --hard-limit 40960");
    REQUIRE(s.group->write("dmem.max", std::string(nvidias) + " 42949672960"));  // as the driver would
    CHECK(limit_gpu_memory(s.machine, *s.group, limit_on("0000:17:00.0", 40 * gib + 5)));
}

TEST_CASE("gpu_memory: what cannot be limited is said") {
    scene s;
    {
        fake_driver const smi("echo 'ERROR: Option memory-limits is not recognized.'; echo more; exit 1");
        auto const old = limit_gpu_memory(s.machine, *s.group, limit_on("0000:17:00.0", gib));
        REQUIRE_FALSE(old);
        CHECK((old.failure().code == errc::not_supported &&
               old.failure().subject == "ERROR: Option memory-limits is not recognized."));
        CHECK(std::string(old.failure().remedy).find("r615") != std::string::npos);
    }
    auto const without_regions = limit_gpu_memory(s.machine, *s.group, limit_on("0000:18:00.0", gib));
    REQUIRE_FALSE(without_regions);
    CHECK((without_regions.failure().code == errc::not_found && without_regions.failure().subject == "0000:18:00.0"));
}

TEST_CASE("gpu_memory: a group has no dmem where the kernel has none") {
    for (auto const which : {flavour::v1, flavour::hybrid, flavour::v2}) {
        cgroup::model machine(which, 2, "user.slice");
        auto groups = cgroup::backend::open(machine, {.name = "run", .cpus = {}});
        REQUIRE(groups);
        REQUIRE(groups->add(job, "a"));
        CHECK(*groups->place_of(job, controller::dmem) == nullptr);
    }
}
