// SPDX-License-Identifier: BSL-1.0
#include "run/next_devices.hpp"

#include <utility>

namespace ration::program {

void next_devices::plan_return() {
    next_ = devices_.held();
    returns_ = true;
}

void next_devices::plan_roll_back() {
    next_ = old_;
    returns_ = true;
}

void next_devices::plan_retry() { next_ = returns_ ? devices_.held() : device_list{}; }

bool next_devices::hold_planned() {
    next_ = devices_.replace_cordoned(next_);
    if (next_.empty()) return false;
    falls_back_ = !returns_;
    if (falls_back_) old_ = devices_.held();
    devices_.hold(std::exchange(next_, {}));
    return true;
}

bool next_devices::replace_held() {
    auto replaced = devices_.replace_cordoned(devices_.held());
    if (replaced.empty()) return false;
    devices_.hold(std::move(replaced));
    return true;
}

bool next_devices::settle() {
    devices_.release_others();
    forget();
    falls_back_ = false;
    return std::exchange(returns_, false);
}

void next_devices::abort() {
    next_.clear();
    devices_.release_others();
}

void next_devices::forget() noexcept {
    next_.clear();
    old_.clear();
}

void next_devices::release() {
    devices_.release();
    forget();
    falls_back_ = returns_ = false;
}

void next_devices::add_to(resize_record& into) const {
    into.next = next_;
    into.origin = old_;
    into.falls_back = falls_back_;
    into.returning = returns_;
}

bool next_devices::restore(resize_record const& from) {
    next_ = from.next;
    old_ = from.origin;
    falls_back_ = from.falls_back;
    returns_ = from.returning;
    return devices_.claim(next_) && devices_.claim(old_);
}

}  // namespace ration::program
