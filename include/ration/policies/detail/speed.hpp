// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// Speeds by number of devices, as the columns `jobs/goodput*` hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace ration::policies::detail {

/// The speed of a job by its number of devices, in steps/s, on devices of the first type. The job
/// does not run where the value is 0 or less.
struct speed_curve {
    /// Indexed by the number of devices.
    std::span<double const> values;

    /// The speed; 0 outside the table, and for a value that is not finite.
    [[nodiscard]] double at(std::int64_t devices) const noexcept {
        double const v = devices >= 0 && static_cast<std::size_t>(devices) < values.size()
                             ? values[static_cast<std::size_t>(devices)]
                             : 0;
        return v > 0 && v <= std::numeric_limits<double>::max() ? v : 0;
    }
    /// The fewest devices above `devices`, from `least` to `most`, at which the job is faster; 0 if
    /// there are none.
    [[nodiscard]] std::int64_t next(std::int64_t devices, std::int64_t least, std::int64_t most) const noexcept {
        double const now = at(devices);
        for (std::int64_t k = devices + 1 > least ? devices + 1 : least; k <= most; ++k)
            if (at(k) > now) return k;
        return 0;
    }
};

/// The largest number of devices in a row of a column [type][devices]. `types` are those of the
/// nodes, from 0.
[[nodiscard]] inline std::int64_t widest_of(std::size_t width, std::span<std::uint32_t const> types) noexcept {
    std::size_t count = 1;
    for (std::uint32_t const type : types) count = type >= count ? std::size_t{type} + 1 : count;
    return static_cast<std::int64_t>(width / count) - 1;
}

}  // namespace ration::policies::detail
