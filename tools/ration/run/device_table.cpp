// SPDX-License-Identifier: BSL-1.0
#include "run/device_table.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <range/v3/view/zip.hpp>

namespace ration::program {

device_list lowest_devices(device_list held, device_list const& free, std::int64_t count) {
    auto const wanted = static_cast<std::size_t>(count);
    for (std::size_t i = 0; held.size() < wanted; ++i) held.push_back(free[i]);
    held.resize(wanted);
    return held;
}

std::uint32_t device_table::number(std::string const& name) {
    auto const known = std::ranges::find(rows_, name, &row::name);
    auto const at = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end()) rows_.push_back({name, {}, {}, true});
    return at;
}

std::string device_table::names(std::span<std::uint32_t const> devices) const {
    std::string out;
    for (auto const device : devices) out += (out.empty() ? "" : ",") + rows_[device].name;
    return out;
}

device_list device_table::parts_of(std::string const& device) {
    if (device != whole_) return {number(device)};
    device_list out(rows_.size());
    std::iota(out.begin(), out.end(), 0U);
    return out;
}

std::int64_t device_table::free() const noexcept {
    return std::ranges::count_if(rows_, [](row const& one) { return one.owner == job_id{} && !one.cordoned; });
}

std::int64_t device_table::held() const noexcept {
    return std::ranges::count_if(rows_, [](row const& one) { return one.owner != job_id{}; });
}

std::int64_t device_table::cordoned() const noexcept { return std::ranges::count(rows_, true, &row::cordoned); }

device_list device_table::sound(std::span<std::uint32_t const> devices) const {
    device_list out;
    std::ranges::copy_if(devices, std::back_inserter(out),
                         [this](std::uint32_t device) { return !rows_[device].cordoned; });
    return out;
}

device_list device_table::of(job_id job) const {
    device_list out;
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].owner == job) out.push_back(i);
    return out;
}

void device_table::set_memory(std::span<bytes const> memory) noexcept {
    for (auto&& [row, has] : ranges::views::zip(rows_, memory)) row.memory = has;
}

bytes device_table::need_of(job_id job) const noexcept {
    auto const at = std::ranges::find(needs_, job, &std::pair<job_id, bytes>::first);
    return at == needs_.end() ? bytes{} : at->second;
}

std::int64_t device_table::large_enough(job_id job) const noexcept {
    return std::ranges::count_if(
        rows_, [least = need_of(job)](row const& one) { return !one.cordoned && one.memory.count >= least.count; });
}

device_list device_table::free_for(job_id job) const {
    auto out = of(job_id{});
    std::erase_if(out, [&](std::uint32_t device) {
        return rows_[device].cordoned || rows_[device].memory.count < need_of(job).count;
    });
    return out;
}

/// Without those that only others can make use of, where `count` are left then.
device_list device_table::least_needed(device_list const& of, job_id job, std::int64_t count) const {
    auto const is_for_others = [&](std::uint32_t device) {
        return std::ranges::any_of(needs_, [&](auto const& need) {
            return need.second.count > need_of(job).count && need.second.count <= rows_[device].memory.count;
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
    for (auto const device : out) rows_[device].owner = job;
    return out;
}

bool device_table::claim(job_id job, std::span<std::uint32_t const> devices) {
    auto const can_have = [&](std::uint32_t device) {
        return device < rows_.size() && (rows_[device].owner == job_id{} || rows_[device].owner == job);
    };
    if (!std::ranges::all_of(devices, can_have)) return false;
    for (auto const device : devices) rows_[device].owner = job;
    return true;
}

void device_table::keep_only(job_id job, std::span<std::uint32_t const> devices) {
    for (auto const device : of(job))
        if (std::ranges::find(devices, device) == devices.end()) rows_[device].owner = {};
    if (chooser_ != nullptr && devices.empty()) chooser_->forget(job);
}

}  // namespace ration::program
