// SPDX-License-Identifier: BSL-1.0
/// The time that a node needs for the end of its jobs.
#pragma once

#include <algorithm>
#include <span>

#include "config/config.hpp"

namespace ration::program {

/// How long a node can take to save and end its jobs once its lease is over.
[[nodiscard]] inline nanoseconds ending_time(std::span<job_config const> jobs) noexcept {
    nanoseconds longest{};
    for (auto const& job : jobs)
        if (job.elastic)
            longest = std::max(longest, job.elastic->deadlines.save + job.elastic->deadlines.stop + job.grace);
    return longest;
}

}  // namespace ration::program
