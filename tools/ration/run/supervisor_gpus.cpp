// SPDX-License-Identifier: BSL-1.0
// What the supervisor does about GPUs as such: how far jobs are held to theirs, and which of them show a fault.
#include <memory>

#include <fmt/core.h>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/xid.hpp>

#include "error_text.hpp"
#include "run/supervisor.hpp"

namespace ration::program {

namespace {

/// Xids count from now on, where the driver reports any.
[[nodiscard]] gpu_looker::looking look_at_machine() {
    auto opened = cuda::xid_watch::open();
    auto const xids = opened ? std::make_shared<cuda::xid_watch>(std::move(opened).value()) : nullptr;
    return [xids](gpu_looker::sight& seen) {
        if (xids != nullptr) seen.heard = xids->take();
        seen.found = cuda::find_gpus();
    };
}

}  // namespace

void supervisor::watch_over_gpus(nanoseconds now) {
    if (parts_.devices.of_cpu() || parts_.devices.names().empty()) return;
    gpus_.emplace(parts_.devices.names(), cuda::find_gpus(), now);
    gpus_->start(look_at_machine());
}

std::vector<std::string> supervisor::idle_devices() const {
    auto const& table = elastic_.table();
    return names_of(table.of(job_id{}));
}

void supervisor::look_at_gpus(nanoseconds now) {
    if (!gpus_) return;
    auto& table = elastic_.table();
    for (auto const& change : gpus_->look(idle_devices(), now)) {
        table.set_aside(table.number(change.device), change.aside);
        tell(device_told{.device = change.device, .what = change.aside ? "set_aside" : "back", .why = change.why}, now);
        news_ = true;
    }
}

/// The failure of a job may be that of a GPU, which only a look from then on can tell. The other jobs go on meanwhile.
bool supervisor::waits_for_look(live_job& job, process::exit_report const& how, nanoseconds now) {
    if (!gpus_ || job.devices == nullptr || how.success()) return false;
    if (!job.look) job.look = gpus_->ask(idle_devices(), now);
    if (gpus_->judged() < *job.look) return true;
    job.look.reset();
    return false;
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
