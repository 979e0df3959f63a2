// SPDX-License-Identifier: BSL-1.0
#include "run/device_filter_guard.hpp"

#include <unistd.h>

#include <ration/cgroup/kernel_io.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/cuda/device_files.hpp>
#include <ration/cuda/device_mask.hpp>

namespace ration::program {
namespace {

/// The files that a job with these GPUs shall not open.
[[nodiscard]] result<std::vector<cgroup::device_number>> files_of_others(own_gpus const& gpus) {
    std::vector<cuda::device_id> own;
    for (auto const& name : gpus.names) {
        auto const id = cuda::device_id::parse(name);
        if (!id) return id.failure();
        own.push_back(*id);
    }
    auto const mask = cuda::device_mask::of(own, own);
    if (!mask) return mask.failure();
    auto const files = cuda::files_to_deny(gpus.of, *mask, cuda::find_device_files());
    if (!files) return files.failure();
    std::vector<cgroup::device_number> out;
    for (auto const& [major, minor] : *files) out.push_back({major, minor});
    return out;
}

/// The name contains this process as owner, so that a later start finds the guards of a killed run.
[[nodiscard]] result<std::string> guard_name(cgroup::io& machine, std::string const& job) {
    auto const self = cgroup::self_as_owner(machine);
    return self ? result<std::string>(cgroup::group_name_of({job, *self})) : self.failure();
}

}  // namespace

result<cgroup::version> find_device_filter(std::span<cuda::found_gpu const> gpus, bool own_groups) {
    cgroup::kernel_io machine;
    auto const name = guard_name(machine, "trial");
    if (!name) return name.failure();
    auto control =
        own_groups ? cgroup::find_device_control(machine, *name) : result<cgroup::version>(cgroup::version::v1);
    if (!own_groups)
        if (auto const guard = cgroup::device_guard::create(machine, *name); !guard) control = guard.failure();
    if (!control) return control;
    auto const files = cuda::files_to_deny(gpus, {}, cuda::find_device_files());
    return files ? control : result<cgroup::version>(files.failure());
}

device_filter_guard::device_filter_guard() : machine_(std::make_unique<cgroup::kernel_io>()) {}

void device_filter_guard::close(job_id job, std::string const& name, cgroup::directory const* group,
                                own_gpus const& gpus) {
    open(job);
    auto made = make(name, group, gpus);
    auto& mine = jobs_[job];
    if (made)
        mine.by.emplace(std::move(made).value());
    else
        mine.why_not = made.failure();
}

result<device_filter_guard::hold> device_filter_guard::make(std::string const& name, cgroup::directory const* group,
                                                            own_gpus const& gpus) const {
    auto const files = files_of_others(gpus);
    if (!files) return files.failure();
    std::optional<error> why;
    if (group != nullptr) {
        auto filter = cgroup::device_filter::deny(*group, *files);
        if (filter) return hold(std::move(filter).value());
        why = filter.failure();
    }
    auto const own_name = guard_name(*machine_, name);
    if (!own_name) return own_name.failure();
    auto guard = cgroup::device_guard::create(*machine_, *own_name);
    if (!guard) return why && guard.failure().code == errc::not_supported ? *why : guard.failure();
    if (auto const denied = guard->deny(*files); !denied) return denied.failure();
    return hold(std::move(guard).value());
}

void device_filter_guard::place(job_id job, pid_t pid) {
    auto const at = jobs_.find(job);
    if (at == jobs_.end()) return;
    auto& [by, why_not] = at->second;
    auto* const guard = by ? std::get_if<cgroup::device_guard>(&*by) : nullptr;
    if (guard == nullptr) return;  // a filter is on the group that the process is in anyway
    auto const placed = guard->place(pid);
    if (placed || placed.failure().code == errc::not_found) return;  // one that has ended opens nothing
    why_not = placed.failure();
}

std::optional<error> device_filter_guard::why_not(job_id job) const {
    auto const at = jobs_.find(job);
    return at != jobs_.end() ? at->second.why_not : std::nullopt;
}

}  // namespace ration::program
