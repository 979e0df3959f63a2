// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The order in which jobs and tenants get devices one by one.
///
/// Part of `max_min`.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ration::policies::detail {

/// The turn of a job or a tenant for one device.
struct device_claim {
    static constexpr std::uint32_t none = 0xFFFF'FFFF;
    double for_weight = 0;       // devices without this one
    bool is_held = false;        // at present
    std::uint32_t place = none;  // among those that compete, such as the row of a job

    /// The turn for one more device than `devices`. Precondition: `weight` is above 0.
    [[nodiscard]] static device_claim of(std::int64_t devices, double weight, std::int64_t held,
                                         std::size_t place) noexcept {
        return {static_cast<double>(devices) / weight, held > devices, static_cast<std::uint32_t>(place)};
    }
    friend bool operator==(device_claim const&, device_claim const&) noexcept = default;
    /// The order in which devices are given.
    [[nodiscard]] static bool before(device_claim const& a, device_claim const& b) noexcept {
        if (a.for_weight != b.for_weight) return a.for_weight < b.for_weight;
        return a.is_held != b.is_held ? a.is_held : a.place < b.place;
    }
};

}  // namespace ration::policies::detail
