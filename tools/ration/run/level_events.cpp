// SPDX-License-Identifier: BSL-1.0
#include "run/level_events.hpp"

#include <limits>

namespace ration::program {

void update_level(live_job const& job, training_progress& progress, event_sink& events, nanoseconds now) {
    if (job.forgotten || job.waiting() || job.over() || !progress.update_level(now)) return;
    auto const& level = *progress.level();
    events.emit(level_changed{.job = job.config->name,
                              .holds = level.tier() > 0,
                              .step = progress.step,
                              .metric = job.config->target.metric,
                              .value = level.smoothed().value_or(std::numeric_limits<double>::quiet_NaN()),
                              .met = level.met(),
                              .slack = level.slack()},
                now);
}

std::optional<double> level_met_by(training_progress const& progress) noexcept {
    auto const* const level = progress.level();
    return level == nullptr ? std::nullopt : level->met_since_first();
}

}  // namespace ration::program
