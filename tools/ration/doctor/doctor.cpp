// SPDX-License-Identifier: BSL-1.0
// `ration doctor`: which backend controls which resource here, why not where not, and what to do about it.
#include "doctor/doctor.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/core.h>

#include <ration/cgroup/capabilities.hpp>
#include <ration/cgroup/kernel_io.hpp>
#include <ration/cuda/device_mask.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/process/backend.hpp>

#include "common/error_text.hpp"
#include "common/exit_code.hpp"
#include "events/machine.hpp"
#include "policies/plugin_policy.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {
namespace {

using json = nlohmann::ordered_json;

[[nodiscard]] finding found(cgroup::capability const& c) {
    if (c.available())
        return {std::string(c.what),
                fmt::format("cgroup {}", cgroup::name_of(c.kind)),
                fmt::format("{}/*/{}", c.directory, c.file),
                {},
                {}};
    return refused(std::string(c.what), c.why);
}

/// One row for each GPU, or one with the reason why none was found.
void add_gpus(std::vector<finding>& rows) {
    auto const found = cuda::find_gpus();
    char const* const inherited = std::getenv("CUDA_VISIBLE_DEVICES");
    auto const usable = cuda::visible_devices(
        found.sound(), inherited != nullptr ? std::optional<std::string_view>(inherited) : std::nullopt);
    for (auto const& gpu : found.gpus) {
        finding row{fmt::format("gpu {}", gpu.what.pci.view()),
                    "cuda mask",
                    fmt::format("{} {}", gpu.what.id.name().view(), gpu.what.model.view()),
                    {},
                    {}};
        auto const allowed = [&](cuda::device_id const& id) {
            return id == gpu.what.id || std::ranges::find(gpu.what.instances, id) != gpu.what.instances.end();
        };
        if (gpu.fault)
            row.why_not = to_text(*gpu.fault);
        else if (std::ranges::none_of(usable, allowed)) {
            row.why_not = "CUDA_VISIBLE_DEVICES does not let this program use it";
            row.remedy = "start ration without that variable, or with this GPU in it";
        }
        rows.push_back(std::move(row));
    }
    if (found.gpus.empty())
        rows.push_back({"gpu", "", "", found.why_no_nvml ? to_text(*found.why_no_nvml) : "the driver shows none",
                        "devices = { count = 4, cpu = 0.25 } in the jobs file replaces GPUs"});
}

/// How GPUs and CPUs are chosen for jobs with devices.
[[nodiscard]] finding placement_here() {
    auto const topology = find_topology();
    finding row{"placement of GPUs and CPUs", topology.reader, "", topology.why_not, topology.remedy};
    if (!topology.machine) {
        row.remedy += "; until then jobs get the GPUs of the lowest numbers, and no CPUs of their own";
        return row;
    }
    auto const& m = *topology.machine;
    row.where = fmt::format("{} cores, {} NUMA node{}, {} GPU{}{}", m.cores.size(), m.nodes.size(),
                            m.nodes.size() == 1 ? "" : "s", m.gpus.size(), m.gpus.size() == 1 ? "" : "s",
                            topology.is_this_machine ? "" : ", of another machine (HWLOC_XMLFILE)");
    return row;
}

/// The restrictions on a policy from a file in its worker process.
[[nodiscard]] finding worker_here() {
    std::string const why(why_workers_read_all());
    return {
        "policies from files", "seccomp, Landlock",
        "read libraries; no other files, no network, no programs, no threads", why,
        why.empty() ? "" : "Linux 5.13 and later have it, unless `lsm=` on the kernel's command line leaves it out"};
}

/// From which processes a run accepts the reports of a job. `cpu`: the row of the quota, which decides on the backend.
void add_reports(std::vector<finding>& rows, finding const& cpu) {
    constexpr char const* tracing = "; a process of the same user that traces one of them is not detected";
    rows.push_back({"reports by cgroup", cpu.by, fmt::format("accepted from processes in the job's group{}", tracing),
                    cpu.why_not, cpu.remedy});
    rows.push_back({"reports without cgroups",
                    "process",
                    fmt::format("accepted from descendants and the session of the job's first process{}", tracing),
                    {},
                    {}});
}

[[nodiscard]] std::vector<finding> examine() {
    cgroup::kernel_io machine;
    std::vector<finding> rows;
    for (auto const& c : cgroup::examine(machine)) rows.push_back(found(c));
    auto const processes = process::backend::open();
    finding fallback{"cpu without cgroups", "process", "affinity, SIGSTOP and SIGCONT", {}, {}};
    if (!processes) fallback.why_not = to_text(processes.failure());
    rows.push_back(fallback);
    add_reports(rows, finding(rows.front()));
    add_gpus(rows);
    rows.push_back(placement_here());
    rows.push_back(worker_here());
    return rows;
}

[[nodiscard]] bool cpu_by_cgroup(std::vector<finding> const& rows) { return rows.front().available(); }

void print_text(machine_facts const& machine, std::vector<finding> const& rows, gpu_findings const& gpus) {
    fmt::print("{}, {} cpus, {}, {:.1f} GiB\n\n", machine.kernel, machine.cpus, machine.cpu_model,
               static_cast<double>(machine.memory.count) / (1 << 30));
    for (auto const& row : rows) fmt::print("{}", to_line(row));
    fmt::print("\n{}", to_text(gpus));
    if (cpu_by_cgroup(rows)) {
        fmt::print("\nration run limits jobs with cgroups here.\n");
        return;
    }
    fmt::print("\nration run uses the process backend here. What is approximate about it:\n");
    for (auto const& sentence : process::backend::approximations()) fmt::print("  - {}\n", sentence);
}

void print_json(machine_facts const& machine, std::vector<finding> const& rows, gpu_findings const& gpus) {
    json out{{"kernel", machine.kernel},
             {"cpus", machine.cpus},
             {"cpu_model", machine.cpu_model},
             {"memory_bytes", machine.memory.count},
             {"backend", cpu_by_cgroup(rows) ? "cgroup" : "process"},
             {"resources", json::array()}};
    for (auto const& row : rows) out["resources"].push_back(to_json(row));
    out["gpus"] = to_json(gpus);
    std::puts(out.dump(-1, ' ', true, json::error_handler_t::replace).c_str());
}

}  // namespace

exit_code doctor(doctor_options const& options) {
    auto const rows = examine();
    auto const gpus = examine_gpus(cpu_by_cgroup(rows));
    options.json ? print_json(machine_here(), rows, gpus) : print_text(machine_here(), rows, gpus);
    return exit_code::ok;
}

}  // namespace ration::program
