// SPDX-License-Identifier: BSL-1.0
#include "run/device_assigner.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include <ration/cuda/inventory.hpp>

#include "common/error_text.hpp"

namespace ration::program {

device_assigner::device_assigner(host_devices const& devices, gpu_shares const* shares,
                                 machine_topology const& topology, elastic_jobs& elastic, gpu_monitor const& gpus,
                                 node_backend& node, event_sink& events)
    : devices_(devices), shares_(shares), elastic_(elastic), gpus_(gpus), node_(node), events_(events),
      placement_(device_placement::of(topology, devices.pci(), node.cpus().all())) {}

void device_assigner::share_devices(job_table& jobs) {
    auto& table = elastic_.table();
    table.devices().set_memory(devices_.memory());
    table.devices().are_shares_of(devices_.whole());
    node_.share_devices(elastic_);
    if (placement_) table.choose_by(*placement_);
    for (auto& job : jobs.jobs()) add(job);
}

void device_assigner::add(live_job& job) {
    if (!job.config->elastic) return;
    elastic_.add(job.id, {.deadlines = job.elastic().deadlines, .world = job.elastic().part.world},
                 to_seconds(job.elastic().restart_cost));
    job.devices = elastic_.find(job.id);
    elastic_.table().needs(job.id, job.elastic().gpu_memory);
    if (placement_) placement_->add(job.id, job.config->cpu.maximum);
}

void device_assigner::remove(live_job const& job) {
    if (job.devices == nullptr) return;
    elastic_.remove(job.id);
    if (placement_) placement_->remove(job.id);
}

result<device_assignment> device_assigner::assign(live_job const& job) {
    device_assignment out;
    if (job.devices == nullptr) return out;
    auto const& chosen = job.devices->state().devices.held();
    if (placement_) out.place = placement_->settle(job.id, chosen);
    auto masks = devices_.masks(names_of(elastic_.table().devices(), chosen));
    if (!masks) return masks.failure();
    out.masks = std::move(masks).value();
    if (auto const share = share_of(job); share && shares_ != nullptr)
        for (auto const& entry : share->environment(shares_->place())) out.masks.emplace_back(entry);
    out.names = elastic_.table().devices().names(chosen);
    out.seen = elastic_.table().devices().seen(chosen);
    out.ranks = elastic_.table().devices().ranks(chosen);
    out.cpu = cpu_of(chosen.size());
    if (auto const share = share_of(job)) out.percent = share->percent();
    out.filter = filter_of(job, chosen);
    out.memory = gpu_memory_of(job, chosen);
    return out;
}

void device_assigner::reattach(live_job const& job, process::cpu_set const& bound, nanoseconds now) {
    if (!placement_) return;
    auto const place = placement_->reattach(job.id, job.devices->state().devices.held(), bound);
    auto const kept = place.cpus.empty() ? result<void>() : node_.jobs().confine(job.id, place.cpus);
    if (!kept) events_.warn_once(job.config->name, to_text(kept.failure()), now);
}

std::optional<own_gpus> device_assigner::filter_of(live_job const& job, std::span<std::uint32_t const> devices) const {
    auto const found = gpus_.found();
    if (job.devices == nullptr || !found) return std::nullopt;
    return own_gpus{
        .names = shares_ != nullptr ? std::vector{devices_.whole()} : names_of(elastic_.table().devices(), devices),
        .of = *found};
}

/// On each of its GPUs as much as it asks each of them to have.
std::optional<gpu_memory_limit> device_assigner::gpu_memory_of(live_job const& job,
                                                               std::span<std::uint32_t const> devices) const {
    auto const pci = devices_.pci();
    if (job.devices == nullptr || job.elastic().gpu_memory.count == 0) return std::nullopt;
    gpu_memory_limit out{.gpus = {}, .most = job.elastic().gpu_memory};
    for (auto const device : devices) {
        auto const name = shares_ != nullptr ? devices_.whole() : elastic_.table().devices().name(device);
        auto const id = cuda::device_id::parse(name);
        bool const known = std::ranges::any_of(out.gpus, [&](auto const& gpu) { return id && gpu.id == *id; });
        if (id && !known && device < pci.size()) out.gpus.push_back({*id, pci[device]});
    }
    return out;
}

std::optional<millicores> device_assigner::cpu_of(std::size_t count) const {
    if (!devices_.of_cpu()) return std::nullopt;
    return millicores{devices_.each().count * static_cast<std::int64_t>(count)};
}

std::optional<cuda::mps_share> device_assigner::share_of(live_job const& job) const {
    return devices_.share_of(job.devices->state().devices.held().size());
}

control device_assigner::controls(std::vector<std::string>& advice) {
    control out{"gpu", devices_.description(), ""};
    if (devices_.of_cpu()) return out;
    auto const& gpus = devices_.found().gpus;
    auto const filter = find_device_filter(gpus, node_.jobs().has_groups());
    filtered_ = static_cast<bool>(filter);
    std::string const level = filter ? fmt::format("enforced by cgroup {}", cgroup::name_of(*filter)) : "advisory";
    out.backend += shares_ != nullptr ? fmt::format(" (advisory; which GPU: {})", level) : fmt::format(" ({})", level);
    if (!filter)
        advice.push_back("a job that changes its mask reaches the GPUs of others: " + to_text(filter.failure()));
    if (shares_ != nullptr) add_advice_of_shares(gpus, advice);
    return out;
}

void device_assigner::add_advice_of_shares(std::span<cuda::found_gpu const> gpus,
                                           std::vector<std::string>& advice) const {
    advice.push_back(
        "a job that changes CUDA_MPS_ACTIVE_THREAD_PERCENTAGE has another share; whether it is a client of MPS is looked at after its first step");
    for (auto const& gpu : gpus)
        if (gpu.what.id.name().view() == devices_.whole())
            for (auto const& way : cuda::ways_past_mps({&gpu, 1}, {})) advice.push_back(to_text(way));
}

void device_assigner::warn_of_missing_limits(live_job const& job, nanoseconds now) {
    if (auto const why = node_.gpus().why_unfiltered(job.id); why && filtered_)
        events_.warn_once(job.config->name, fmt::format("its mask is advice: {}", to_text(*why)), now);
    if (auto const why = node_.gpus().why_without_memory_limit(job.id))
        events_.warn_once(job.config->name, fmt::format("its gpu_memory is not a limit: {}", to_text(*why)), now);
}

void device_assigner::warn_of_ways_past(live_job const& job, std::span<std::string const> environment,
                                        nanoseconds now) {
    if (shares_ == nullptr || job.devices == nullptr) return;
    for (auto const& way : cuda::ways_past_mps({}, environment)) events_.warn_once(job.config->name, to_text(way), now);
}

}  // namespace ration::program
