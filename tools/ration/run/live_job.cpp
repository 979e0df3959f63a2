// SPDX-License-Identifier: BSL-1.0
#include "run/live_job.hpp"

#include <ration/assert.hpp>

namespace ration::program {
namespace {

[[nodiscard]] two_tier_target target_of(target_config const& t) {
    auto made = two_tier_target::make({.metric = t.metric,
                                       .improves = t.improves,
                                       .acceptable = t.acceptable,
                                       .objective = t.objective,
                                       .mean_of = t.mean_of});
    RATION_ASSERT(made, "a target that passed the reading of the file must be a target");
    return *made;
}

}  // namespace

live_job::live_job(job_config const& from, std::size_t table_row)
    : config(&from), id{table_row + 1}, row(table_row), tracker(target_of(from.target)) {}

bool live_job::take(progress::report const& reply, nanoseconds at) {
    bool const is_step = reply.type == progress::message_type::step;
    bool const is_eval = reply.type == progress::message_type::eval;
    if (is_step || is_eval) step = reply.step;
    bool const about_target =
        (is_step && config->target.metric == "loss") || (is_eval && reply.metric == config->target.metric);
    if (!about_target) return false;
    double const value = is_step ? reply.loss_mean : reply.value;
    std::uint64_t const count = is_step ? reply.loss_count : reply.non_finite == 0 ? 1 : 0;
    if (count == 0) return false;
    std::uint32_t const before = tracker.tier();
    tracker.see(value, count);
    if (!first_value) first_value = value;
    if (tracker.tier() >= two_tier_target::acceptable_tier && !acceptable_at) acceptable_at = at;
    if (tracker.tier() >= two_tier_target::objective_tier && !objective_at) objective_at = at;
    return tracker.tier() != before;
}

job_summary live_job::summary() const {
    return {.name = config->name,
            .arrived = config->at,
            .started = started_at,
            .acceptable_at = acceptable_at,
            .objective_at = objective_at,
            .ended_at = ended_at,
            .has_acceptable = config->target.acceptable.has_value(),
            .has_objective = config->target.objective.has_value(),
            .how = now,
            .why = why,
            .device_seconds = device_seconds};
}

job_view live_job::view(nanoseconds at) const {
    job_view v{.name = config->name,
               .now = now,
               .detail = why,
               .starts_in = {},
               .metric = config->target.metric,
               .improves = config->target.improves,
               .first = first_value,
               .value = tracker.smoothed(),
               .acceptable = config->target.acceptable,
               .objective = config->target.objective,
               .tier = tracker.tier(),
               .held = {},
               .devices = {},
               .going_to = {}};
    if (devices != nullptr && !over()) {
        v.devices = devices->size();
        v.going_to = devices->wanted();
    }
    if (waiting() && config->at > at) v.starts_in = config->at - at;
    return v;
}

}  // namespace ration::program
