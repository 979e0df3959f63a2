// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling_result.hpp"

#include <algorithm>

namespace ration::program {
namespace {

[[nodiscard]] double speed_of(measured_launch const& launch, bool samples) noexcept {
    return launch.steps_per_second * (samples ? static_cast<double>(launch.batch) : 1);
}

}  // namespace

bool has_failure(scaling_result const& all) noexcept {
    return std::ranges::any_of(all.sizes, [](measured_size const& size) { return !size.failure.empty(); });
}

bool compares_samples(scaling_result const& all) noexcept {
    auto const* const base = base_of(all);
    if (base == nullptr) return false;
    bool differ = false;
    for (auto const& size : all.sizes) {
        if (!size.measured()) continue;
        for (auto const& launch : size.launches) {
            if (launch.batch == 0) return false;
            differ = differ || launch.batch != base->launches.front().batch;
        }
    }
    return differ;
}

measured_size const* base_of(scaling_result const& all) noexcept {
    auto const found = std::ranges::find_if(all.sizes, &measured_size::measured);
    return found == all.sizes.end() ? nullptr : &*found;
}

double speedup_of(scaling_result const& all, measured_size const& of) noexcept {
    auto const& base = *base_of(all);
    bool const samples = compares_samples(all);
    double sum = 0;
    for (std::size_t round = 0; round < of.launches.size(); ++round)
        sum += speed_of(of.launches[round], samples) / speed_of(base.launches[round], samples);
    return sum / static_cast<double>(of.launches.size()) * static_cast<double>(base.devices);
}

std::vector<double> speedup_list(scaling_result const& all) {
    std::vector<double> list;
    if (base_of(all) == nullptr) return list;
    list.resize(static_cast<std::size_t>(all.most) + 1);
    for (auto const& size : all.sizes)
        if (size.measured()) list[static_cast<std::size_t>(size.devices)] = speedup_of(all, size);
    return list;
}

}  // namespace ration::program
