// SPDX-License-Identifier: BSL-1.0
#include "device_table.hpp"

#include <algorithm>
#include <iterator>

namespace ration::program {

std::uint32_t device_table::number(std::string const& name) {
    auto const known = std::ranges::find(rows_, name, &row::name);
    auto const at = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end()) rows_.push_back({name, {}, false});
    return at;
}

std::string device_table::names(std::span<std::uint32_t const> devices) const {
    std::string out;
    for (auto const device : devices) out += (out.empty() ? "" : ",") + rows_[device].name;
    return out;
}

std::int64_t device_table::free() const noexcept {
    return std::ranges::count_if(rows_, [](row const& one) { return one.owner == job_id{} && !one.aside; });
}

std::int64_t device_table::held() const noexcept {
    return std::ranges::count_if(rows_, [](row const& one) { return one.owner != job_id{}; });
}

std::int64_t device_table::aside() const noexcept { return std::ranges::count(rows_, true, &row::aside); }

device_list device_table::sound(std::span<std::uint32_t const> devices) const {
    device_list out;
    std::ranges::copy_if(devices, std::back_inserter(out), [this](std::uint32_t device) { return !rows_[device].aside; });
    return out;
}

device_list device_table::of(job_id job) const {
    device_list out;
    for (std::uint32_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].owner == job) out.push_back(i);
    return out;
}

device_list device_table::take(job_id job, std::int64_t count) {
    device_list out;
    if (count > free()) return out;
    for (std::uint32_t i = 0; static_cast<std::int64_t>(out.size()) < count; ++i) {
        if (rows_[i].owner != job_id{} || rows_[i].aside) continue;
        rows_[i].owner = job;
        out.push_back(i);
    }
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
}

}  // namespace ration::program
