// SPDX-License-Identifier: BSL-1.0
#include "device_table.hpp"

#include <algorithm>

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
    if (known == rows_.end()) rows_.push_back({name, {}});
    return at;
}

std::string device_table::names(std::span<std::uint32_t const> devices) const {
    std::string out;
    for (auto const device : devices) out += (out.empty() ? "" : ",") + rows_[device].name;
    return out;
}

std::int64_t device_table::free() const noexcept { return std::ranges::count(rows_, job_id{}, &row::owner); }

device_list device_table::of(job_id job) const {
    device_list out;
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].owner == job) out.push_back(i);
    return out;
}

device_list device_table::take(job_id job, std::int64_t count) { return count > free() ? device_list{} : change(job, {}, count); }

device_list device_table::change(job_id job, device_list const& held, std::int64_t count) {
    auto const nobodys = of(job_id{});
    auto out = chooser_ != nullptr ? chooser_->choose(job, held, nobodys, count) : lowest_devices(held, nobodys, count);
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
