// SPDX-License-Identifier: BSL-1.0
/// The lease of a node: for how long its jobs may run without a message of the controller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

#include <ration/units.hpp>

namespace ration::program {

/// The clock of leases. It also counts while the machine is suspended, because the controller waits on another machine.
[[nodiscard]] inline nanoseconds lease_clock() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return nanoseconds{std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

/// Times are on the clock of the node. The controller repeats the latest clock that it has received, and the lease ends
/// `length` after that. So a message that was late on its way renews nothing: when the controller, after the last
/// message of a silent node, has waited for `length`, the lease is over whatever was still in a pipe.
class node_lease {
    nanoseconds length_, until_;

public:
    node_lease(nanoseconds length, nanoseconds now) noexcept : length_(length), until_(now + length) {}

    /// A message of the controller repeats `clock`, which this node has sent; a later one than `now` counts as `now`.
    void renew(nanoseconds clock, nanoseconds now) noexcept {
        until_ = std::max(until_, std::min(clock, now) + length_);
    }
    [[nodiscard]] bool is_over(nanoseconds now) const noexcept { return now >= until_; }
    [[nodiscard]] nanoseconds until() const noexcept { return until_; }
};

}  // namespace ration::program
