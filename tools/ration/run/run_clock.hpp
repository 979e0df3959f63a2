// SPDX-License-Identifier: BSL-1.0
/// The clock of a run: 0 is its start.
#pragma once

#include <ration/process/proc.hpp>
#include <ration/units.hpp>

namespace ration::program {

struct run_clock {
    nanoseconds began;  ///< on CLOCK_MONOTONIC

    [[nodiscard]] nanoseconds now() const noexcept { return process::now() - began; }
};

}  // namespace ration::program
