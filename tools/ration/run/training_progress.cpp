// SPDX-License-Identifier: BSL-1.0
#include "run/training_progress.hpp"

#include <algorithm>

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

training_progress::training_progress(target_config const& of) : target(&of), tracker(target_of(of)) {}

std::optional<double> training_progress::next_target() const noexcept {
    if (tracker.tier() >= two_tier_target::objective_tier) return std::nullopt;
    bool const is_first = tracker.tier() < two_tier_target::acceptable_tier && tracker.target().acceptable();
    return is_first ? tracker.target().acceptable() : tracker.target().objective();
}

bool training_progress::take(progress::report const& reply, nanoseconds at) {
    bool const is_step = reply.type == progress::message_type::step;
    bool const is_eval = reply.type == progress::message_type::eval;
    if (is_step || is_eval) step = reply.step;
    if (is_step && reply.total_steps > 0) total_steps = reply.total_steps;
    if (is_step && reply.batch > 0) batch = reply.batch;
    bool const about_target = (is_step && target->metric == "loss") || (is_eval && reply.metric == target->metric);
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

std::vector<training_progress> initial_progress(std::span<live_job const> jobs) {
    std::vector<training_progress> out;
    for (auto const& job : jobs) out.emplace_back(job.config->target);
    return out;
}

}  // namespace ration::program
