// SPDX-License-Identifier: BSL-1.0
#include "run/device_placement.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include <ration/hwloc/explain.hpp>

namespace ration::program {
namespace {

/// Names of the devices on the bus, each once: two instances of one GPU have its address, and a number behind it.
[[nodiscard]] std::vector<text<16>> distinct_names(std::span<text<16> const> pci) {
    std::vector<text<16>> out;
    for (std::size_t i = 0; i < pci.size(); ++i) {
        auto const earlier = std::ranges::count(pci.first(i), pci[i]);
        out.push_back(earlier == 0 ? pci[i] : text<16>(fmt::format("{}/{}", pci[i].view(), earlier)));
    }
    return out;
}

[[nodiscard]] std::string sentences(std::vector<std::string> const& from) {
    std::string out;
    for (auto const& one : from) out += (out.empty() ? "" : " ") + one;
    return out;
}

[[nodiscard]] std::vector<std::uint32_t> numbers_in(process::cpu_set const& cpus) {
    std::vector<std::uint32_t> out;
    cpus.for_each([&out](unsigned cpu) { out.push_back(cpu); });
    return out;
}

}  // namespace

std::string job_location::cpu_list() const { return hwloc::list_of(numbers_in(cpus)); }

std::optional<device_placement> device_placement::of(machine_topology const& topology, std::span<text<16> const> pci,
                                                     process::cpu_set const& usable) {
    if (!topology.machine || pci.empty()) return std::nullopt;
    auto const names = distinct_names(pci);
    auto machine = hwloc::with_gpus(*topology.machine, pci);
    for (std::size_t i = 0; i < names.size(); ++i) machine.gpus[i].pci = names[i];
    auto placer = hwloc::placer::of(std::move(machine));
    if (!placer) return std::nullopt;  // the topology was checked when it was read
    std::vector<std::uint32_t> gpu_of;
    gpu_of.reserve(names.size());
    auto const& gpus = placer->where().gpus;
    for (auto const& name : names)
        gpu_of.push_back(static_cast<std::uint32_t>(std::ranges::find(gpus, name, &hwloc::gpu::pci) - gpus.begin()));
    return device_placement(std::move(*placer), std::move(gpu_of), usable, topology.is_this_machine);
}

device_placement::device_placement(hwloc::placer placer, std::vector<std::uint32_t> gpu_of,
                                   process::cpu_set const& usable, bool binds)
    : placer_(std::move(placer)), gpu_of_(std::move(gpu_of)), usable_(usable), binds_(binds) {
    auto const& cores = placer_.where().cores;
    for (std::uint32_t i = 0; i < cores.size(); ++i) {
        auto const mine =
            std::ranges::count_if(cores[i].pus, [&](std::uint32_t cpu) { return !binds || usable.contains(cpu); });
        if (mine == 0) outside_.cores.push_back(i);
        cores_ += mine > 0 ? 1 : 0;
        cpus_ += static_cast<std::uint32_t>(mine);
    }
    if (cores_ > 0) return;
    binds_ = false;  // a topology without the CPUs that we run on
    cores_ = static_cast<std::uint32_t>(std::exchange(outside_.cores, {}).size());
    cpus_ = cores_;
}

device_placement::resident& device_placement::of_job(job_id job) noexcept {
    return *std::ranges::find(jobs_, job, &resident::job);
}

/// As many as its bound on cpu allows, or in proportion to its devices.
std::uint32_t device_placement::cores_for(resident const& job, std::int64_t devices) const noexcept {
    auto const all = static_cast<std::int64_t>(cores_);
    std::int64_t wanted = all * devices / static_cast<std::int64_t>(gpu_of_.size());
    if (job.most_cpu < std::int64_t{1000} * cpus_)
        wanted = (job.most_cpu * all + std::int64_t{1000} * cpus_ - 1) / (std::int64_t{1000} * cpus_);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 1, all));
}

hwloc::occupied device_placement::others_of(job_id job, bool cores_too) const noexcept {
    hwloc::occupied out(placer_.where());
    out.add(outside_);
    for (auto const& other : jobs_)
        if (cores_too && other.job != job) out.add({.cores = other.now.cores, .gpus = {}});
    return out;
}

std::uint32_t device_placement::free_cores(hwloc::occupied const& others) const noexcept {
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < placer_.where().cores.size(); ++i) out += others.core(i) ? 0 : 1;
    return out;
}

/// Nothing when one is not of this machine.
std::optional<std::vector<std::uint32_t>> device_placement::gpus_of(device_list const& devices) const noexcept {
    std::vector<std::uint32_t> out;
    for (auto const device : devices) {
        if (device >= gpu_of_.size()) return std::nullopt;
        out.push_back(gpu_of_[device]);
    }
    std::ranges::sort(out);
    return out;
}

device_list device_placement::choose(job_id job, device_list const& held, device_list const& free, std::int64_t count) {
    auto const& asks = of_job(job);
    bool const some_free = free_cores(others_of(job, true)) > 0;
    auto others = others_of(job, some_free);
    for (std::uint32_t device = 0; device < gpu_of_.size(); ++device)
        if (std::ranges::find(free, device) == free.end() && std::ranges::find(held, device) == held.end())
            others.add({.cores = {}, .gpus = {gpu_of_[device]}});
    auto const has = gpus_of(held);
    hwloc::request const wanted{.cores = std::min(cores_for(asks, count), free_cores(others)),
                                .gpus = static_cast<std::uint32_t>(count)};
    auto const given = has ? placer_.place(wanted, {.cores = asks.now.cores, .gpus = *has}, others)
                           : result<hwloc::placement>(error{});
    if (!given) return lowest_devices(held, free, count);  // devices of an earlier run that this machine does not show
    auto const is_chosen = [&](std::uint32_t device) {
        return device < gpu_of_.size() && std::ranges::binary_search(given->now.gpus, gpu_of_[device]);
    };
    device_list out;
    std::ranges::copy_if(held, std::back_inserter(out), is_chosen);
    std::ranges::copy_if(free, std::back_inserter(out), is_chosen);
    return out;
}

bool device_placement::knows_place_of(std::vector<std::uint32_t> const& gpus) const noexcept {
    return std::ranges::any_of(placer_.homes_of(gpus), [](hwloc::core_home const& home) {
        return home.node != hwloc::unknown || home.package != hwloc::unknown;
    });
}

process::cpu_set device_placement::bound_to(hwloc::placement const& given) const noexcept {
    process::cpu_set out;
    for (auto const cpu : given.cpus)
        if (binds_ && usable_.contains(cpu)) out.insert(cpu);
    return out;
}

job_location device_placement::settle(job_id job, device_list const& devices) {
    auto& mine = of_job(job);
    auto const gpus = gpus_of(devices);
    if (!gpus || gpus->empty()) {
        mine.now = {};
        return job_location{};
    }
    bool const some_free = free_cores(others_of(job, true)) > 0;
    auto const others = others_of(job, some_free);
    auto const before = std::exchange(mine.now, {.cores = {}, .gpus = *gpus});
    hwloc::request const wanted{
        .cores = std::min(cores_for(mine, static_cast<std::int64_t>(gpus->size())), free_cores(others)),
        .gpus = static_cast<std::uint32_t>(gpus->size())};
    auto given = placer_.place(wanted, {.cores = before.cores, .gpus = *gpus}, others);
    if (!given) return {};
    bool const near = knows_place_of(*gpus);
    if (!near) {
        given->now.cores.clear();
        given->cpus.clear();
        given->memory.clear();
    }
    mine.now.cores = given->now.cores;
    auto reply = hwloc::explain(placer_, before, *given, others);
    // The memory, which is not bound: the kernel takes it from the cores' nodes as long as they have some
    if (near) reply.pop_back();
    if (!near) {
        reply.resize(1);
        reply.push_back("No CPUs are chosen, as it is not known where that is.");
    } else if (!binds_)
        reply.push_back("No CPU is bound: this is the topology of another machine.");
    else if (!some_free)
        reply.push_back("Other jobs have these cores too, as there are more jobs than cores.");
    return {.cpus = bound_to(*given), .why = sentences(reply)};
}

job_location device_placement::reattach(job_id job, device_list const& devices, process::cpu_set const& bound) {
    auto& mine = of_job(job);
    auto const gpus = gpus_of(devices);
    mine.now = {.cores = {}, .gpus = gpus.value_or(std::vector<std::uint32_t>())};
    if (!binds_ || bound == usable_ || (bound & usable_).empty()) return {};
    mine.now.cores = placer_.reattach(numbers_in(bound & usable_), {}).cores;
    return {.cpus = bound & usable_, .why = "It was found there."};
}

}  // namespace ration::program
