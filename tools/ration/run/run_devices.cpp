// SPDX-License-Identifier: BSL-1.0
#include "run/run_devices.hpp"

#include <iterator>
#include <numeric>
#include <range/v3/view/zip.hpp>

namespace ration::program {

std::uint32_t run_devices::number(std::string const& name) {
    auto const known = std::ranges::find(rows_, name, &row::name);
    auto const at = static_cast<std::uint32_t>(known - rows_.begin());
    if (known == rows_.end()) rows_.push_back({name, {}, true});
    return at;
}

std::string run_devices::names(std::span<std::uint32_t const> devices) const {
    std::string out;
    for (auto const device : devices) out += (out.empty() ? "" : ",") + rows_[device].name;
    return out;
}

device_list run_devices::parts_of(std::string const& device) {
    if (device != whole_) return {number(device)};
    device_list out(rows_.size());
    std::iota(out.begin(), out.end(), 0U);
    return out;
}

void run_devices::set_memory(std::span<bytes const> memory) noexcept {
    for (auto&& [row, has] : ranges::views::zip(rows_, memory)) row.memory = has;
}

std::int64_t run_devices::cordoned() const noexcept { return std::ranges::count(rows_, true, &row::cordoned); }

device_list run_devices::sound(std::span<std::uint32_t const> devices) const {
    device_list out;
    std::ranges::copy_if(devices, std::back_inserter(out),
                         [this](std::uint32_t device) { return !rows_[device].cordoned; });
    return out;
}

std::vector<std::string> names_of(run_devices const& all, std::span<std::uint32_t const> devices) {
    std::vector<std::string> out;
    for (auto const device : devices) out.push_back(all.name(device));
    return out;
}

}  // namespace ration::program
