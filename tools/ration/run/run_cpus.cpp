// SPDX-License-Identifier: BSL-1.0
#include "run/run_cpus.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/own_quota.hpp>
#include <ration/process/proc.hpp>

#include "run/run_directory.hpp"

namespace ration::program {
namespace {

/// Of this number of CPUs.
[[nodiscard]] millicores amount_of(std::uint32_t cpus) {
    cgroup::kernel_io machine;
    return std::min(millicores{std::int64_t{1000} * cpus}, cgroup::own_quota(machine));
}

[[nodiscard]] bool has_live_job(run_record const& record) {
    return std::ranges::any_of(record.jobs, [](recorded_job const& job) {
        return job.pid > 0 && process::same_process(job.pid, job.start_time);
    });
}

/// How a warning names the owner of a CPU; empty for a service without a running job, which needs none.
[[nodiscard]] std::string name_of_owner(pid_t owner, std::vector<present_run> const& present) {
    auto const found = std::ranges::find(present, owner, [](present_run const& run) { return run.record.owner; });
    bool const is_service = found != present.end() && state_folder_of(found->record.file);
    if (is_service && !has_live_job(found->record)) return {};
    return fmt::format("{} (process {})", is_service ? "a service" : "another run", owner);
}

}  // namespace

millicores usable_cpu(std::optional<std::uint32_t> count) {
    auto const here = process::cpu_set::of_thread(0).size();
    return amount_of(std::min(count.value_or(here), here));
}

run_cpus::run_cpus(std::optional<std::uint32_t> count, std::string const& claims)
    : claims_(core_claims::open(claims)), chosen_(claims_.take(process::cpu_set::of_thread(0), count)),
      amount_(amount_of(chosen_.cpus.size())), asked_(count) {}

std::string run_cpus::missing() const {
    auto const cores = static_cast<double>(amount_.count) / 1000;
    if (!asked_ || *asked_ <= cores) return {};
    return fmt::format(
        "{} cores are asked for, and this program may use {:g}; ask for fewer, or let it use more: "
        "taskset -p, and cpuset.cpus and cpu.max of its group",
        *asked_, cores);
}

std::string run_cpus::shared() const {
    if (chosen_.shared.empty()) return {};
    auto const present = present_runs();
    std::vector<std::string> owners;
    for (auto const owner : chosen_.others)
        if (auto name = name_of_owner(owner, present); !name.empty()) owners.push_back(std::move(name));
    if (owners.empty()) return {};
    return fmt::format("CPUs {} are also those of {}, so that both are slower; name fewer with 'cpus' in both files",
                       chosen_.shared.list().view(), fmt::join(owners, " and "));
}

}  // namespace ration::program
