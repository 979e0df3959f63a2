// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The fall of a job's loss, for `loss_delta_ratio`.
#pragma once

#include <cstdint>
#include <tuple>

#include <ration/target.hpp>

namespace ration::policies::detail {

/// Measures the fall of one job's loss over a fixed number of steps, window after window.
class loss_window {
    std::uint64_t step_ = 0;  // the window's first; 0 = no window has begun
    double loss_ = 0;         // there
    double delta_ = 0, first_ = 0;

public:
    // The saved members, and their validation.
    [[nodiscard]] static auto fields(auto& self) noexcept {
        return std::tie(self.step_, self.loss_, self.delta_, self.first_);
    }
    [[nodiscard]] bool sane() const noexcept {
        return is_finite(loss_) && is_finite(delta_) && is_finite(first_) && delta_ >= 0 && first_ >= 0;
    }

    /// True if there was no window yet in which the loss fell.
    [[nodiscard]] bool empty() const noexcept { return first_ == 0; }
    /// The fall over the last window with a fall, and over the first one; both above 0 unless
    /// empty.
    [[nodiscard]] double delta() const noexcept { return delta_; }
    [[nodiscard]] double first() const noexcept { return first_; }

    /// Starts a new window at the next report, and keeps the measurements.
    void begin_anew() noexcept { step_ = 0; }

    /// Adds a report. Reports do not come at every step, so a window is at least `steps` long, and
    /// its fall is scaled to that length. A window without a fall is noise, and the last
    /// measurement stays.
    void see(std::uint64_t step, double loss, std::int64_t steps) noexcept {
        if (!is_finite(loss)) return;
        bool const begun = step_ != 0 && step >= step_;  // a job may restart from an earlier step
        std::uint64_t const length = step - step_;
        if (begun && length < static_cast<std::uint64_t>(steps)) return;
        double const fall = begun ? (loss_ - loss) * (static_cast<double>(steps) / static_cast<double>(length)) : 0;
        step_ = step;
        loss_ = loss;
        if (!(fall > 0) || !is_finite(fall)) return;
        delta_ = fall;
        if (empty()) first_ = fall;
    }
};

}  // namespace ration::policies::detail
