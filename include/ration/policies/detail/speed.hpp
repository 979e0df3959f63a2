// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ration::policies::detail {

/// How fast a job goes with so many devices, in steps/s; index = devices, of the first type. What is not above 0 does
/// not run.
struct speed_curve {
    std::span<double const> values;

    [[nodiscard]] double at(std::int64_t devices) const noexcept {
        double const v = devices >= 0 && static_cast<std::size_t>(devices) < values.size()
                             ? values[static_cast<std::size_t>(devices)]
                             : 0;
        return v > 0 ? v : 0;
    }
    /// The fewest devices above `devices`, from `least` to `most`, at which it is faster; 0 when there are none.
    [[nodiscard]] std::int64_t next(std::int64_t devices, std::int64_t least, std::int64_t most) const noexcept {
        double const now = at(devices);
        for (std::int64_t k = devices + 1 > least ? devices + 1 : least; k <= most; ++k)
            if (at(k) > now) return k;
        return 0;
    }
};

/// Devices that one row of a column [type][devices] can name at most. `types`: of the nodes, from 0 up.
[[nodiscard]] inline std::int64_t widest_of(std::size_t width, std::span<std::uint32_t const> types) noexcept {
    std::size_t count = 1;
    for (std::uint32_t const type : types) count = type >= count ? std::size_t{type} + 1 : count;
    return static_cast<std::int64_t>(width / count) - 1;
}

}  // namespace ration::policies::detail
