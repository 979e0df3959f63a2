// SPDX-License-Identifier: BSL-1.0
#include "run/job_views.hpp"

#include "run/level_events.hpp"

namespace ration::program {

job_view view_of(live_job const& job, training_progress const& progress, nanoseconds now) {
    auto const& target = job.config->target;
    job_view v{.name = job.config->name,
               .now = job.now,
               .detail = job.why,
               .starts_in = {},
               .metric = target.metric,
               .improves = target.improves,
               .first = progress.first_value,
               .value = progress.smoothed(),
               .acceptable = target.acceptable,
               .objective = target.objective,
               .tier = progress.tier(),
               .held = {},
               .devices = {},
               .going_to = {},
               .array_index = job.config->array_index};
    if (target.level) {
        v.level = target.level->bound;
        v.window_met = progress.level()->met();
        v.level_met = level_met_by(progress);
    }
    if (job.waiting() && job.config->at > now) v.starts_in = job.config->at - now;
    return v;
}

job_summary summary_of(live_job const& job, training_progress const& progress) {
    return {.name = job.config->name,
            .arrived = job.config->at,
            .started = job.started_at,
            .acceptable_at = progress.acceptable_at,
            .objective_at = progress.objective_at,
            .ended_at = job.ended_at,
            .has_acceptable = job.config->target.acceptable.has_value(),
            .has_objective = job.config->target.objective.has_value(),
            .how = job.now,
            .why = job.why,
            .step = progress.step,
            .level_met = level_met_by(progress)};
}

}  // namespace ration::program
