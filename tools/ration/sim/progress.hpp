// SPDX-License-Identifier: BSL-1.0
/// How far the simulations are, on standard error: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <string>
#include <thread>

#include <ration/units.hpp>

#include "sim/runs.hpp"

namespace ration::program {

/// The subject of a progress line.
struct progress_state {
    std::uint64_t jobs_done = 0, jobs = 0, runs_done = 0, runs = 0;
    nanoseconds elapsed{};
};

/// "[#####-----] 50 %  1 of 2 runs  812 jobs/s  0:12 left", without newline, not wider than `width`; the bar only if
/// there is one.
[[nodiscard]] std::string progress_text(progress_state const& state, bool bar, std::uint32_t width);

/// Prints `progress` from its own thread until it ends, and then clears the bar.
class progress_view {
    std::jthread thread_;

public:
    explicit progress_view(runs_progress const& progress);
};

}  // namespace ration::program
