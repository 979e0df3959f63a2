// SPDX-License-Identifier: BSL-1.0
/// Exponential back-off: after each failure of a launch or a resize, a longer rest before the next one.
#pragma once

#include <algorithm>

#include <ration/units.hpp>

namespace ration::program {

/// A rest doubles with each failure in a row, up to 16 times the first.
class back_off {
    nanoseconds first_, until_{};
    int failures_ = 0;

public:
    explicit back_off(nanoseconds first = seconds(1)) noexcept : first_(first) {}

    void fail(nanoseconds now) noexcept {
        constexpr int most_doublings = 4;
        until_ = now + nanoseconds{first_.count << std::min(failures_, most_doublings)};
        ++failures_;
    }
    /// The next failure counts as the first. A rest that has begun continues.
    void succeed() noexcept { failures_ = 0; }
    [[nodiscard]] bool is_over(nanoseconds now) const noexcept { return now >= until_; }
};

}  // namespace ration::program
