// SPDX-License-Identifier: BSL-1.0
#include "measure/step_window.hpp"

namespace ration::program {

void step_window::add(std::uint64_t step, nanoseconds at) noexcept {
    if (complete()) return;
    if (last_ && step < last_->step) first_ = begin_ = std::nullopt;
    mark const now{step, at};
    last_ = now;
    if (!first_) first_ = now;
    if (!begin_ && at - first_->at >= warm_up_) begin_ = now;
}

bool step_window::complete() const noexcept {
    return begin_ && last_ && last_->at - begin_->at >= length_ && last_->step - begin_->step >= fewest_steps;
}

double step_window::rate() const noexcept {
    if (!begin_ || !last_) return 0;
    return static_cast<double>(last_->step - begin_->step) / to_seconds(last_->at - begin_->at);
}

std::optional<nanoseconds> step_window::last_report() const noexcept {
    return last_ ? std::optional(last_->at) : std::nullopt;
}

}  // namespace ration::program
