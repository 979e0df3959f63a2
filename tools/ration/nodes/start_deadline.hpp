// SPDX-License-Identifier: BSL-1.0
/// The phases in which a job starts on several nodes, each with the same time. It reads no clock.
#pragma once

#include <cstdint>

#include <ration/units.hpp>

namespace ration::program {

enum class start_phase : std::uint8_t {
    launching,  ///< not all nodes have reported that they have launched their parts
    greeting,   ///< rank 0 has not sent its hello, or a step
    stepping,   ///< it has sent no step
};

class start_deadline {
    start_phase phase_ = start_phase::launching;
    nanoseconds since_{};

public:
    void begin(nanoseconds now) noexcept {
        phase_ = start_phase::launching;
        since_ = now;
    }
    /// A later phase has its whole time from now on.
    void advance(start_phase phase, nanoseconds now) noexcept {
        if (phase <= phase_) return;
        phase_ = phase;
        since_ = now;
    }
    /// The controller was suspended until now: the present phase has its whole time again.
    void resume(nanoseconds now) noexcept { since_ = now; }
    [[nodiscard]] start_phase phase() const noexcept { return phase_; }
    [[nodiscard]] bool is_over(nanoseconds now, nanoseconds limit) const noexcept { return now - since_ >= limit; }
};

}  // namespace ration::program
