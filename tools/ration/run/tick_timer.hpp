// SPDX-License-Identifier: BSL-1.0
/// When ticks are due, and which of them measure the jobs. It reads no clock.
#pragma once

#include <ration/units.hpp>

namespace ration::program {

/// A tick is due an interval after the last one, or at once after a request.
class tick_timer {
    nanoseconds interval_, next_{0}, next_measurement_{0};
    bool requested_ = true, measures_ = false;

public:
    explicit tick_timer(nanoseconds interval) noexcept : interval_(interval) {}

    void request() noexcept { requested_ = true; }
    [[nodiscard]] bool is_due(nanoseconds now) const noexcept { return requested_ || now >= next_; }
    /// 0 after a request.
    [[nodiscard]] nanoseconds next() const noexcept { return requested_ ? nanoseconds{0} : next_; }

    /// A tick begins; a request from now on is for another one.
    void start(nanoseconds now) noexcept {
        requested_ = false;
        next_ = now + interval_;
        measures_ = now >= next_measurement_;
        if (measures_) next_measurement_ = next_;
    }
    /// Whether the present tick measures the jobs and the CPUs, which happens once in an interval. A tick that a report
    /// requests in between uses the last figures: reading them again would delay the new limits.
    [[nodiscard]] bool measures() const noexcept { return measures_; }
};

}  // namespace ration::program
