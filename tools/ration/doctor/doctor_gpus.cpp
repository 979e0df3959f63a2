// SPDX-License-Identifier: BSL-1.0
// The part of `ration doctor` about GPUs: the list of them, and how far jobs can be held to theirs. That is advisory
// (by their environment), enforced (nothing else can be opened) or verified (looked at).
#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>
#include <optional>
#include <string_view>
#include <utility>

#include <ration/cgroup/dmem.hpp>
#include <ration/cgroup/kernel_io.hpp>
#include <ration/cuda/device_mask.hpp>

#include "common/error_text.hpp"
#include "doctor/doctor.hpp"
#include "run/device_filter_guard.hpp"

namespace ration::program {
namespace {

using json = nlohmann::ordered_json;

/// The devices that a process here can use: jobs get no more.
[[nodiscard]] std::vector<cuda::device_id> usable(cuda::inventory const& found) {
    char const* const mask = std::getenv("CUDA_VISIBLE_DEVICES");
    auto const sound = found.sound();
    return cuda::visible_devices(sound, mask != nullptr ? std::optional<std::string_view>(mask) : std::nullopt);
}

/// The mask by which the driver is asked: all whole GPUs, or one instance where there are only instances.
[[nodiscard]] cuda::device_mask widest_mask(std::vector<cuda::device_id> const& usable) {
    std::vector<cuda::device_id> chosen;
    std::ranges::copy_if(usable, std::back_inserter(chosen),
                         [](cuda::device_id const& id) { return id.kind() == cuda::device_kind::gpu; });
    if (chosen.empty() && !usable.empty()) chosen.push_back(usable.front());
    auto mask = cuda::device_mask::of(chosen, usable);
    return mask ? *mask : cuda::device_mask();
}

/// `own_groups`: `ration run` gives jobs groups of their own here.
[[nodiscard]] finding masks_enforced(cuda::inventory const& found, bool own_groups) {
    char const* const what = "which GPUs, enforced";
    auto const control = find_device_filter(found.gpus, own_groups);
    if (!control) return refused(what, control.failure());
    return {what,
            fmt::format("cgroup {}", cgroup::name_of(*control)),
            fmt::format("{}: a job cannot open the device files of other GPUs",
                        *control == cgroup::version::v2 ? "an eBPF program" : "devices.deny"),
            {},
            {}};
}

[[nodiscard]] finding masks_verified(cuda::device_mask const& mask, result<cuda::driver_view> const& driver) {
    char const* const what = "which GPUs, verified";
    if (!driver) return refused(what, driver.failure());
    bool const same = std::ranges::equal(driver->devices, mask.devices(), {}, &cuda::driver_device::id);
    if (same)
        return {what,
                "driver",
                fmt::format("under a mask for {} of them it shows exactly these", mask.devices().size()),
                {},
                {}};
    return {what,
            {},
            {},
            fmt::format("under a mask for {} of them the driver shows {}, or others", mask.devices().size(),
                        driver->devices.size()),
            "see nvidia-smi -L; inside a container, give it the GPUs whole"};
}

/// Whether the daemon's program is installed: without a daemon it reports that none runs.
[[nodiscard]] bool can_start_mps() {
    auto const reply = cuda::run_program({"ask", "nvidia-cuda-mps-control", ""}, {cuda::mps_place{}.program},
                                         process::current_environment(), "get_server_list\n", gpu_findings::patience);
    return static_cast<bool>(reply);
}

[[nodiscard]] finding mps_shares(cuda::inventory const& found) {
    char const* const what = "share of a GPU, MPS";
    auto const daemon = cuda::mps::connect(cuda::mps_place::here(), gpu_findings::patience);
    if (!daemon && daemon.failure().code == errc::not_found && can_start_mps())
        return {what,
                "MPS",
                "no daemon runs; ration run starts one if its file has devices = { count = 4, gpu = 0.25 }",
                {},
                {}};
    auto const servers = daemon ? daemon->servers() : result<std::vector<cuda::mps_server>>(daemon.failure());
    if (!servers) return refused(what, servers.failure());
    std::size_t clients = 0;
    for (auto const& server : *servers) clients += server.clients.size();
    auto const ways = cuda::ways_past_mps(found.gpus, {});
    std::string const place = fmt::format(
        "v{} in {}, {}; verified when the job is among them{}", static_cast<int>(daemon->protocol()),
        daemon->place().pipe_directory, clients == 1 ? "1 client" : fmt::format("{} clients", clients),
        ways.empty()
            ? ""
            : "; a job that does not reach the daemon computes without limits, as not all GPUs are in EXCLUSIVE_PROCESS");
    return {what, "MPS", place, {}, {}};
}

[[nodiscard]] finding green_contexts(result<cuda::driver_view> const& driver) {
    char const* const what = "share of a GPU, advisory";
    static constexpr int first = 12040;
    if (!driver) return refused(what, driver.failure());
    if (driver->version >= first)
        return {what, "driver", "green contexts, in jobs that use ration/cuda/sm_share.h", {}, {}};
    return {what, {}, {}, "the driver has no green contexts", "update the driver to one for CUDA 12.4 or later"};
}

[[nodiscard]] finding gpu_memory(cuda::inventory const& found) {
    char const* const what = "GPU memory";
    cgroup::kernel_io machine;
    auto const dmem = cgroup::find_dmem(machine);
    constexpr char const* without = "; until then gpu_memory in a jobs file chooses GPUs and limits nothing";
    if (!dmem) {
        auto row = refused(what, dmem.failure());
        row.remedy += without;
        return row;
    }
    bool const shown =
        std::ranges::any_of(dmem->capacity, [](auto const& region) { return region.name.starts_with("nvidia/"); });
    if (shown && found.limits_memory)
        return {
            what, "dmem", "gpu_memory of a job is its limit, set at each launch by nvidia-smi memory-limits", {}, {}};
    return {what,
            {},
            {},
            "the kernel has dmem, but the GPU driver takes no part in it",
            std::string("use an NVIDIA driver r615 or later") + without};
}

[[nodiscard]] std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

[[nodiscard]] std::string counted(std::size_t n, char const* one, char const* more) {
    return n == 0 ? std::string() : fmt::format(", {} {}", n, n == 1 ? one : more);
}

[[nodiscard]] std::string line_of(cuda::found_gpu const& one) {
    auto const& gpu = one.what;
    std::string out = fmt::format("  {}  {}", gpu.pci.empty() ? "(no address)" : gpu.pci.view(),
                                  gpu.id == cuda::device_id{} ? "(no name)" : std::string(gpu.id.name().view()));
    if (!gpu.model.empty()) out += fmt::format("  {}", gpu.model.view());
    if (gpu.memory.count > 0) out += fmt::format(", {:.0f} GiB", static_cast<double>(gpu.memory.count) / (1 << 30));
    if (gpu.numa_node >= 0) out += fmt::format(", NUMA node {}", gpu.numa_node);
    if (gpu.cut)
        out += fmt::format(", MIG{}", gpu.instances.empty() ? " without instances"
                                                            : counted(gpu.instances.size(), "instance", "instances"));
    if (one.exclusive) out += ", one process at a time";
    out += counted(one.links.size(), "NVLink", "NVLinks") +
           counted(one.users.size(), "process computes on it", "processes compute on it") + '\n';
    if (one.fault) out += fmt::format("{:>16}not handed out: {}\n", "", to_text(*one.fault));
    return out;
}

[[nodiscard]] std::string runtime_text(result<cuda::runtime_view> const& runtime) {
    if (!runtime) return to_text(runtime.failure());
    auto const fine = cuda::usable(*runtime);
    return fmt::format("{} ({}){}", version_text(runtime->runtime), runtime->library.view(),
                       fine ? "" : fmt::format(": {}", fine.failure().remedy));
}

[[nodiscard]] json why_not(error const& e) {
    error reason = e;
    reason.remedy = "";
    return {{"why_not", to_text(reason)}, {"remedy", e.remedy}};
}

[[nodiscard]] json device_json(cuda::found_gpu const& one) {
    json out{{"pci", one.what.pci.view()},
             {"name", one.what.id == cuda::device_id{} ? std::string() : std::string(one.what.id.name().view())},
             {"model", one.what.model.view()},
             {"memory_bytes", one.what.memory.count},
             {"numa_node", one.what.numa_node},
             {"exclusive", one.exclusive},
             {"users", one.users},
             {"links", json::array()},
             {"instances", json::array()}};
    for (auto const& link : one.links) out["links"].push_back(link.view());
    for (auto const& instance : one.what.instances) out["instances"].push_back(instance.name().view());
    if (one.fault) out["fault"] = why_not(*one.fault);
    return out;
}

}  // namespace

finding refused(std::string what, error why) {
    char const* const remedy = std::exchange(why.remedy, "");
    return {std::move(what), {}, {}, to_text(why), remedy};
}

std::string to_line(finding const& row) {
    if (row.available()) return fmt::format("  yes  {:<26} {:<10} {}\n", row.what, row.by, row.where);
    return fmt::format("  no   {:<26} {}\n{}", row.what, row.why_not,
                       row.remedy.empty() ? std::string() : fmt::format("{:>33}what helps: {}\n", "", row.remedy));
}

json to_json(finding const& row) {
    json one{{"what", row.what}, {"available", row.available()}};
    if (row.available()) {
        one["by"] = row.by;
        one["where"] = row.where;
    } else {
        one["why_not"] = row.why_not;
        one["remedy"] = row.remedy;
    }
    return one;
}

gpu_findings examine_gpus(bool own_groups) {
    auto found = cuda::find_gpus();
    auto const mask = widest_mask(usable(found));
    auto const environment = mask.devices().empty()
                                 ? std::vector<std::string>{}
                                 : std::vector<std::string>{mask.environment()[0], mask.environment()[1]};
    gpu_findings out{std::move(found),
                     cuda::visible_to_driver(environment, gpu_findings::patience),
                     cuda::find_runtime(gpu_findings::patience),
                     {}};
    if (out.found.gpus.empty()) return out;
    out.levels = {
        {"which GPUs, advisory", "mask", "CUDA_VISIBLE_DEVICES, read once by each process at its start", {}, {}},
        masks_enforced(out.found, own_groups),
        masks_verified(mask, out.driver),
        mps_shares(out.found),
        green_contexts(out.driver),
        gpu_memory(out.found)};
    return out;
}

std::string to_text(gpu_findings const& gpus) {
    auto const& why = gpus.found.why_no_nvml;
    bool const driver = gpus.driver || gpus.driver.failure().code != errc::not_supported;
    std::string out;
    if (gpus.found.gpus.empty() && !driver) {
        out = "GPUs: none, and no NVIDIA driver. Jobs that need no GPU lack nothing.\n";
    } else {
        out = gpus.found.gpus.empty() ? "GPUs: none that NVIDIA's driver shows here.\n" : "GPUs\n";
        for (auto const& one : gpus.found.gpus) out += line_of(one);
        if (why) out += fmt::format("  NVML       {}\n", to_text(*why));
        out += fmt::format("  driver     {}\n",
                           gpus.driver ? "CUDA " + version_text(gpus.driver->version) : to_text(gpus.driver.failure()));
    }
    if (driver || gpus.runtime) out += fmt::format("  runtime    {}\n", runtime_text(gpus.runtime));
    for (auto const& row : gpus.levels) out += to_line(row);
    return out;
}

json to_json(gpu_findings const& gpus) {
    json out{
        {"devices", json::array()}, {"driver", json::object()}, {"runtime", json::object()}, {"levels", json::array()}};
    for (auto const& one : gpus.found.gpus) out["devices"].push_back(device_json(one));
    if (gpus.found.why_no_nvml) out["nvml"] = why_not(*gpus.found.why_no_nvml);
    out["driver"] = gpus.driver ? json{{"cuda", version_text(gpus.driver->version)}} : why_not(gpus.driver.failure());
    if (gpus.runtime) {
        out["runtime"] = {{"cuda", version_text(gpus.runtime->runtime)}, {"library", gpus.runtime->library.view()}};
        if (auto const fine = cuda::usable(*gpus.runtime); !fine) out["runtime"].update(why_not(fine.failure()));
    } else {
        out["runtime"] = why_not(gpus.runtime.failure());
    }
    for (auto const& row : gpus.levels) out["levels"].push_back(to_json(row));
    return out;
}

}  // namespace ration::program
