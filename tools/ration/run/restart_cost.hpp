// SPDX-License-Identifier: BSL-1.0
/// The time that a restart costs a job: from the request to save until the first step after the launch.
#pragma once

#include <optional>
#include <utility>

#include <ration/units.hpp>

namespace ration::program {

class restart_cost {
    double seconds_;
    std::optional<nanoseconds> began_;

public:
    /// `estimate`: seconds, until a restart was measured.
    explicit restart_cost(double estimate) noexcept : seconds_(estimate) {}

    void begin(nanoseconds now) noexcept { began_ = now; }
    /// This restart is not measured.
    void cancel() noexcept { began_.reset(); }
    /// Nothing if no measurement has begun.
    void end(nanoseconds now) noexcept {
        if (auto const from = std::exchange(began_, std::nullopt)) seconds_ = to_seconds(now - *from);
    }
    /// As last measured.
    [[nodiscard]] double seconds() const noexcept { return seconds_; }
};

}  // namespace ration::program
