// SPDX-License-Identifier: BSL-1.0
/// The times of a resize: the deadline of its phase, and the wait for devices before it begins. It reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <ration/units.hpp>

#include "config/config.hpp"
#include "run/resize_phase.hpp"

namespace ration::program {

struct resize_rules {
    resize_deadlines deadlines;
    nanoseconds terminate = seconds(10);  ///< from SIGTERM to SIGKILL, and from each SIGKILL to the next
    nanoseconds clear = seconds(30);      ///< until processes that still use the devices are reported
    nanoseconds wait = seconds(900);      ///< for devices that other jobs are to release
    nanoseconds back_off = seconds(60);   ///< after a failed resize; doubles with each failure, up to 16 times this
    std::int64_t world = 0;               ///< ranks of the job, some of them on other nodes; 0: one for each device
};

class resize_timer {
    resize_rules rules_;
    nanoseconds deadline_{};
    bool repeats_ = false;
    std::optional<nanoseconds> waits_since_;

public:
    explicit resize_timer(resize_rules const& rules) noexcept : rules_(rules) {}

    [[nodiscard]] resize_rules const& rules() const noexcept { return rules_; }

    // --- The deadline of a phase
    /// The phase begins. That of a launch has its time only from `allow_start` on.
    void begin(resize_phase phase, nanoseconds now) noexcept {
        deadline_ = now + limit_of(phase);
        repeats_ = false;
    }
    /// The launch was made, or the job has sent hello: it has the time of a start from now on.
    void allow_start(nanoseconds now) noexcept { deadline_ = now + rules_.deadlines.start; }
    [[nodiscard]] bool is_due(nanoseconds now) const noexcept { return now >= deadline_; }
    /// The phase has passed its deadline and lasts on; the next deadline follows. True the first time.
    [[nodiscard]] bool repeat(nanoseconds now) noexcept {
        deadline_ = now + rules_.terminate;
        return !std::exchange(repeats_, true);
    }
    [[nodiscard]] nanoseconds deadline() const noexcept { return deadline_; }

    // --- The wait for devices
    /// True when a wait begins; false when the job waits already.
    [[nodiscard]] bool wait(nanoseconds now) noexcept {
        if (waits_since_) return false;
        waits_since_ = now;
        return true;
    }
    void end_wait() noexcept { waits_since_.reset(); }
    [[nodiscard]] bool has_waited(nanoseconds now) const noexcept {
        return waits_since_ && now - *waits_since_ >= rules_.wait;
    }
    /// None for a job that does not wait.
    [[nodiscard]] std::optional<nanoseconds> end_of_wait() const noexcept {
        return waits_since_ ? std::optional(*waits_since_ + rules_.wait) : std::nullopt;
    }

private:
    [[nodiscard]] nanoseconds limit_of(resize_phase phase) const noexcept {
        switch (phase) {
            case resize_phase::saving: return rules_.deadlines.save;
            case resize_phase::stopping: return rules_.deadlines.stop;
            case resize_phase::terminating:
            case resize_phase::killing: return rules_.terminate;
            case resize_phase::clearing: return rules_.clear;
            case resize_phase::queued:
            case resize_phase::starting:
            case resize_phase::steady:
            case resize_phase::over: break;
        }
        return {};
    }
};

}  // namespace ration::program
