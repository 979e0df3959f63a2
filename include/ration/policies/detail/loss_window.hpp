// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
#pragma once

#include <cstdint>
#include <tuple>

#include <ration/target.hpp>

namespace ration::policies::detail {

/// By how much one job's loss falls over so many steps, window after window.
class loss_window {
    std::uint64_t step_ = 0;  // the window's first; 0 = no window has begun
    double loss_ = 0;         // there
    double delta_ = 0, first_ = 0;

public:
    // What is saved, and whether it can be right.
    [[nodiscard]] static auto fields(auto& self) noexcept {
        return std::tie(self.step_, self.loss_, self.delta_, self.first_);
    }
    [[nodiscard]] bool sane() const noexcept {
        return is_finite(loss_) && is_finite(delta_) && is_finite(first_) && delta_ >= 0 && first_ >= 0;
    }

    /// No window has closed yet in which the loss fell.
    [[nodiscard]] bool empty() const noexcept { return first_ == 0; }
    /// The fall over the last window in which there was one, and over the first such window; both above 0 unless empty.
    [[nodiscard]] double delta() const noexcept { return delta_; }
    [[nodiscard]] double first() const noexcept { return first_; }

    /// The next report begins a new window; what was measured stays.
    void begin_anew() noexcept { step_ = 0; }

    /// Takes a report. Steps are seen only now and then: a window is at least `steps` long, and its fall is brought to
    /// that length. A window in which the loss did not fall is noise and leaves the last one in force.
    void see(std::uint64_t step, double loss, std::int64_t steps) noexcept {
        if (!is_finite(loss)) return;
        bool const begun = step_ != 0 && step >= step_;  // a job restarts from an earlier step
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
