// SPDX-License-Identifier: BSL-1.0
/// How near the answers of a policy are to the best ones there are.
#pragma once

#include <functional>
#include <memory>

#include "bench/instances.hpp"
#include "bench/timing.hpp"

namespace ration::bench {

/// The results of a policy on each instance. Plain memory, so that another process can write it.
struct reached {
    std::array<values, instance_count> on{};  ///< 0 steps of `completion`: it never came to an end
    trouble wrong;
    std::uint64_t instances = 0;  ///< that it has been through
};

/// A fresh policy for each instance; null when there is none, and then that is all.
using policy_maker = std::function<std::unique_ptr<any_policy>()>;

/// Asks about each instance `settling_ticks` times and judges what holds then; and, on devices, once more at each slot
/// until the batch is done.
inline constexpr int settling_ticks = 4;
void solve(policy_maker const& make, std::span<instance const> all, shared what, bool limited, reached& into);

/// `reached` as a share of `best`, so that 1 is the best answer; rounded to nine digits. NaN unless `best` is above 0.
[[nodiscard]] double share_of_best(objective what, double reached, double best) noexcept;

}  // namespace ration::bench
