// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_monitor.hpp"

#include <memory>
#include <utility>

#include <ration/cuda/inventory.hpp>
#include <ration/cuda/xid.hpp>

namespace ration::program {
namespace {

/// Xids count from the first probe on, where the driver reports any.
[[nodiscard]] gpu_prober::probe_function inspect_machine() {
    return [xids = std::make_shared<std::optional<result<cuda::xid_watch>>>()](gpu_prober::gpu_sample& seen) {
        if (!*xids) xids->emplace(cuda::xid_watch::open());
        if (**xids) seen.received = (**xids)->take();
        seen.found = cuda::find_gpus();
    };
}

}  // namespace

void gpu_monitor::start(nanoseconds now) {
    if (devices_.of_cpu()) return;
    std::string const whole = devices_.whole();
    watch_.emplace(whole.empty() ? devices_.names() : std::span(&whole, 1), devices_.found(), now);
    watch_->start(inspect_machine());
    watch_->ask(idle_devices(), now);
}

void gpu_monitor::probe(nanoseconds now) {
    if (!watch_) return;
    for (auto const& change : watch_->probe(idle_devices(), now)) {
        for (auto const device : table_.devices().parts_of(change.device))
            table_.devices().cordon(device, change.cordoned);
        events_.emit(device_changed{.device = change.device,
                                    .what = change.cordoned ? device_change::cordoned : device_change::back,
                                    .why = change.why},
                     now);
        scheduler_.request_tick();
    }
    auto const trouble = watch_->trouble(now);
    table_.freeze(trouble ? "the driver of the GPUs does not answer" : "");
    if (trouble) events_.warn_once("GPUs", *trouble, now);
}

bool gpu_monitor::has_probed(live_job const& job, nanoseconds now) {
    if (!watch_) return true;
    auto& awaited = awaited_[job];
    if (!awaited) awaited = watch_->ask(idle_devices(), now);
    if (watch_->judged() < *awaited) return false;
    awaited.reset();
    return true;
}

bool gpu_monitor::has_left_devices(live_job const& job, nanoseconds now) {
    auto const& devices = job.devices->state().devices.held();
    if (job.placed || !watch_ || devices_.of_shares() || devices.empty()) return !job.placed;
    return has_probed(job, now) && !watch_->in_use(names_of(table_.devices(), devices));
}

}  // namespace ration::program
