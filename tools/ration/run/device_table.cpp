// SPDX-License-Identifier: BSL-1.0
#include "run/device_table.hpp"

#include <algorithm>

namespace ration::program {

device_list lowest_devices(device_list held, device_list const& free, std::int64_t count) {
    auto const wanted = static_cast<std::size_t>(count);
    for (std::size_t i = 0; held.size() < wanted; ++i) held.push_back(free[i]);
    held.resize(wanted);
    return held;
}

std::int64_t device_table::free() const noexcept {
    std::int64_t out = 0;
    for (std::uint32_t device = 0; device < devices_.size(); ++device)
        out += owner(device) == job_id{} && !devices_.is_cordoned(device) ? 1 : 0;
    return out;
}

std::int64_t device_table::held() const noexcept {
    return std::ranges::count_if(owners_, [](job_id owner) { return owner != job_id{}; });
}

device_list device_table::of(job_id job) const {
    device_list out;
    for (std::uint32_t device = 0; device < devices_.size(); ++device)
        if (owner(device) == job) out.push_back(device);
    return out;
}

void device_table::set_owner(std::uint32_t device, job_id job) {
    if (device >= owners_.size()) owners_.resize(devices_.size());
    owners_[device] = job;
}

bytes device_table::need_of(job_id job) const noexcept {
    auto const at = std::ranges::find(needs_, job, &std::pair<job_id, bytes>::first);
    return at == needs_.end() ? bytes{} : at->second;
}

std::int64_t device_table::large_enough(job_id job) const noexcept {
    auto const least = need_of(job);
    std::int64_t out = 0;
    for (std::uint32_t device = 0; device < devices_.size(); ++device)
        out += !devices_.is_cordoned(device) && devices_.memory(device).count >= least.count ? 1 : 0;
    return out;
}

device_list device_table::free_for(job_id job) const {
    auto out = of(job_id{});
    std::erase_if(out, [&](std::uint32_t device) {
        return devices_.is_cordoned(device) || devices_.memory(device).count < need_of(job).count;
    });
    return out;
}

/// Without the devices that only jobs with a greater need can use, if at least `count` remain then.
device_list device_table::least_needed(device_list const& of, job_id job, std::int64_t count) const {
    auto const is_for_others = [&](std::uint32_t device) {
        return std::ranges::any_of(needs_, [&](auto const& need) {
            return need.second.count > need_of(job).count && need.second.count <= devices_.memory(device).count;
        });
    };
    device_list out = of;
    std::erase_if(out, is_for_others);
    return std::ssize(out) >= count ? out : of;
}

device_list device_table::take(job_id job, std::int64_t count) {
    return count > free(job) ? device_list{} : change(job, {}, count);
}

device_list device_table::change(job_id job, device_list const& held, std::int64_t count) {
    auto const has = least_needed(held, job, count);
    auto const nobodys = least_needed(free_for(job), job, count - static_cast<std::int64_t>(has.size()));
    auto out = chooser_ != nullptr ? chooser_->choose(job, has, nobodys, count) : lowest_devices(has, nobodys, count);
    for (auto const device : out) set_owner(device, job);
    return out;
}

bool device_table::claim(job_id job, std::span<std::uint32_t const> devices) {
    auto const can_have = [&](std::uint32_t device) {
        return device < devices_.size() && (owner(device) == job_id{} || owner(device) == job);
    };
    if (!std::ranges::all_of(devices, can_have)) return false;
    for (auto const device : devices) set_owner(device, job);
    return true;
}

void device_table::keep_only(job_id job, std::span<std::uint32_t const> devices) {
    for (auto const device : of(job))
        if (std::ranges::find(devices, device) == devices.end()) set_owner(device, {});
    if (chooser_ != nullptr && devices.empty()) chooser_->forget(job);
}

}  // namespace ration::program
