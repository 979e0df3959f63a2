// SPDX-License-Identifier: BSL-1.0
// What the supervisor does about GPUs as such: how far jobs are held to theirs, and which of them show a fault.
#include <fmt/core.h>

#include <ration/cuda/inventory.hpp>

#include "error_text.hpp"
#include "run/supervisor.hpp"

namespace ration::program {

void supervisor::watch_over_gpus(nanoseconds now) {
    if (parts_.devices.of_cpu() || parts_.devices.names().empty()) return;
    gpus_.emplace(parts_.devices.names(), cuda::find_gpus(), now);
    gpus_->listen();
}

void supervisor::look_at_gpus(nanoseconds now, bool at_once) {
    if (!gpus_ || (!at_once && now < gpus_->next_look())) return;
    auto& table = elastic_.table();
    std::vector<std::string> idle;
    for (std::uint32_t device = 0; device < table.size(); ++device)
        if (table.owner(device) == job_id{}) idle.push_back(table.name(device));
    for (auto const& change : gpus_->look(idle, now)) {
        table.set_aside(table.number(change.device), change.aside);
        tell(device_told{.device = change.device, .what = change.aside ? "set_aside" : "back", .why = change.why}, now);
        news_ = true;
    }
}

/// The level at which this machine holds jobs to their devices; `advice`: in words why it is not the better one.
control supervisor::control_of_devices(std::string& advice) {
    control out{"gpu", parts_.devices.description(), ""};
    if (parts_.devices.of_cpu()) return out;
    auto const fence = parts_.node.find_fence(cuda::find_gpus().gpus);
    fenced_ = static_cast<bool>(fence);
    out.backend += fence ? fmt::format(" (enforced by cgroup {})", cgroup::name_of(*fence)) : " (advisory)";
    if (!fence) advice = "a job that changes its mask reaches the GPUs of others: " + to_text(fence.failure());
    return out;
}

std::optional<std::vector<std::string>> supervisor::fence_of(live_job const& job) const {
    if (job.devices == nullptr || parts_.devices.of_cpu()) return std::nullopt;
    return names_of(job.devices->devices());
}

/// Where the kernel was to keep its mask, and does not.
void supervisor::tell_of_fence(live_job const& job, nanoseconds now) {
    if (auto const why = parts_.node.why_unfenced(job.id); why && fenced_)
        warn_once(job.config->name, fmt::format("its mask is advice: {}", to_text(*why)), now);
}

}  // namespace ration::program
