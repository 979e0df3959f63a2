// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The devices that a job requests while it runs, as a bound of what it is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/job.hpp>

namespace ration::policies::detail {

/// The upper bound of a job by its requested devices; 0 or less: it has requested none. A request never
/// widens the bounds.
[[nodiscard]] constexpr std::int64_t most_wanted(bounds const& accepted, std::int64_t requested) noexcept {
    bool const is_bound = requested > 0 && accepted.minimum <= accepted.maximum;
    return is_bound ? within(requested, accepted) : accepted.maximum;
}
/// The bounds of the job in this row; the upper one is that of its request, if the policy heeds requests.
template <class Tick>
[[nodiscard]] bounds accepted_devices(Tick const& t, std::size_t row, bool heeds_wants) noexcept {
    bounds accepted{t.template get<"jobs/min.gpu">()[row], t.template get<"jobs/max.gpu">()[row]};
    if (heeds_wants) accepted.maximum = most_wanted(accepted, t.template get<"jobs/requested.gpu">()[row]);
    return accepted;
}

}  // namespace ration::policies::detail
