// SPDX-License-Identifier: BSL-1.0
/// The event that reports the outcome of one grant to the policy.
#pragma once

#include <cstdint>

#include <ration/event.hpp>
#include <ration/host/plan.hpp>

namespace ration {

/// The event about one grant. `row` refers to the jobs table of the last tick; `a` and `b` are
/// encoded as `event_kind` describes.
[[nodiscard]] constexpr event event_of(event_kind kind, setting const& what, std::uint32_t row,
                                       nanoseconds now) noexcept {
    return {
        kind,       row, what.job.value, now, std::int64_t{what.node} << 16 | static_cast<std::int64_t>(what.resource),
        what.amount};
}

}  // namespace ration
