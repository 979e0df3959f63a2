// SPDX-License-Identifier: BSL-1.0
/// The events of levels, for the jobs of one machine and for those of several nodes.
#pragma once

#include "run/event_sink.hpp"
#include "run/training_progress.hpp"

namespace ration::program {

/// Moves the window of a job's level on, and emits an event if the level was lost or holds again. Jobs that wait for
/// their start or are over have no such events.
void update_level(live_job const& job, training_progress& progress, event_sink& events, nanoseconds now);
/// The part of the time since its first value in which the level of the job held; none without a level or a value.
[[nodiscard]] std::optional<double> level_met_by(training_progress const& progress) noexcept;

}  // namespace ration::program
