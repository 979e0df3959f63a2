// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_watch.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include <ration/assert.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

[[nodiscard]] bool is_part(cuda::found_gpu const& gpu, std::string const& device) {
    auto const named = [&](cuda::device_id const& id) { return id.name().view() == device; };
    return named(gpu.what.id) || std::ranges::any_of(gpu.what.instances, named);
}

/// In exclusive mode a job would not even start there.
void mark_taken(cuda::found_gpu& gpu, std::span<std::string const> idle) {
    auto const mine = [&](std::string const& device) { return is_part(gpu, device); };
    if (!gpu.fault && gpu.exclusive && !gpu.users.empty() && std::ranges::any_of(idle, mine))
        gpu.fault = error{
            .code = errc::busy,
            .operation = "use",
            .subject = gpu.what.pci.view(),
            .remedy =
                "it lets one process compute at a time, and one that is none of the run's jobs does: end that one"};
}

/// A device that was given to a job meanwhile may have shown that job's process.
void keep_only(std::vector<std::string>& devices, std::span<std::string const> these) {
    std::erase_if(devices,
                  [these](std::string const& device) { return std::ranges::find(these, device) == these.end(); });
}

}  // namespace

gpu_watch::gpu_watch(std::span<std::string const> devices, cuda::inventory found, nanoseconds now)
    : seen_(std::move(found)), next_(now + interval) {
    rule_.observe(seen_.gpus, now);
    for (auto const& device : devices)
        for (auto const& gpu : seen_.gpus)
            if (is_part(gpu, device)) rows_.push_back({device, gpu.what.id});
}

std::uint64_t gpu_watch::ask(std::span<std::string const> idle, nanoseconds now) {
    bool const one_is_to_come = asked_ > judged_;
    one_is_to_come ? keep_only(idle_, idle) : idle_.assign(idle.begin(), idle.end());
    if (!one_is_to_come) waits_from_ = now;
    next_ = now + interval;
    RATION_ASSERT(prober_, "nothing is asked before the start");
    return asked_ = prober_->ask();
}

std::vector<gpu_watch::change> gpu_watch::probe(std::span<std::string const> idle, nanoseconds now) {
    if (!prober_) return {};
    std::vector<change> out;
    if (auto seen = prober_->take()) {
        keep_only(idle_, idle);
        failure_ = seen_.why_no_nvml ? std::nullopt : seen->found.why_no_nvml;
        received_.insert(received_.end(), seen->received.begin(), seen->received.end());
        if (failure_) return {};
        judged_ = seen->number;
        waits_from_ = now;
        out = classify(std::move(seen->found), std::exchange(received_, {}), idle_, now);
    }
    if (now >= next_) ask(idle, now);
    return out;
}

std::vector<gpu_watch::change> gpu_watch::classify(cuda::inventory found, std::span<cuda::xid_report const> received,
                                                   std::span<std::string const> idle, nanoseconds now) {
    for (auto& gpu : found.gpus) mark_taken(gpu, idle);
    rule_.observe(found.gpus, now);
    for (auto const& [gpu, xid] : received) rule_.report(gpu, xid, now);
    std::vector<change> out;
    for (auto& one : rows_) {
        bool const cordoned = !rule_.usable(one.gpu);
        if (cordoned == one.cordoned) continue;
        one.cordoned = cordoned;
        out.push_back({one.device, cordoned, cordoned ? reason(one, found, received) : std::string()});
    }
    seen_ = std::move(found);
    return out;
}

bool gpu_watch::in_use(std::span<std::string const> devices) const {
    return std::ranges::any_of(seen_.gpus, [&](cuda::found_gpu const& gpu) {
        return !gpu.users.empty() &&
               std::ranges::any_of(devices, [&](std::string const& device) { return is_part(gpu, device); });
    });
}

std::optional<std::string> gpu_watch::trouble(nanoseconds now) const {
    if (asked_ == judged_ || now - waits_from_ < patience) return std::nullopt;
    constexpr std::string_view meanwhile =
        "running jobs continue; jobs that are to start, or to change their GPUs, wait until it answers, and released GPUs stay reserved";
    if (failure_) return fmt::format("{}; {}", to_text(*failure_), meanwhile);
    return fmt::format(
        "their driver does not answer; {}; if nvidia-smi hangs too, end the run with Ctrl-C, see dmesg, and restart the machine",
        meanwhile);
}

std::string gpu_watch::reason(row const& one, cuda::inventory const& found,
                              std::span<cuda::xid_report const> received) const {
    for (auto const& [gpu, xid] : received)
        if (gpu == one.gpu && !cuda::is_the_programs_fault(xid)) return fmt::format("the driver reports Xid {}", xid);
    auto const seen = std::ranges::find(found.gpus, one.gpu, [](cuda::found_gpu const& gpu) { return gpu.what.id; });
    auto const fault = seen != found.gpus.end() ? seen->fault : std::nullopt;
    return fault ? to_text(*fault) : "it is not there any more";
}

}  // namespace ration::program
