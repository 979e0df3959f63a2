// SPDX-License-Identifier: BSL-1.0
#include "run/training_progress.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <ration/assert.hpp>

namespace ration::program {
namespace {

using any_tracker = std::variant<target_tracker, level_tracker>;

[[nodiscard]] level_target level_of(target_config const& t) {
    bool const is_most = t.improves == direction::down;
    auto const bound = std::optional(t.level->bound), none = std::optional<double>();
    auto made = level_target::make({.metric = t.metric,
                                    .at_most = is_most ? bound : none,
                                    .at_least = is_most ? none : bound,
                                    .over = t.level->over});
    RATION_ASSERT(made, "a level that passed the reading of the file must be a level");
    return *made;
}

/// A job without a target has an Objective that no value reaches.
[[nodiscard]] two_tier_target target_of(target_config const& t) {
    constexpr double unreachable = std::numeric_limits<double>::lowest();
    auto made = two_tier_target::make({.metric = t.metric,
                                       .improves = t.improves,
                                       .acceptable = t.acceptable,
                                       .objective = t.is_given() ? t.objective : unreachable,
                                       .mean_of = t.mean_of});
    RATION_ASSERT(made, "a target that passed the reading of the file must be a target");
    return *made;
}

[[nodiscard]] any_tracker tracker_of(target_config const& t) {
    return t.level ? any_tracker(level_tracker(level_of(t))) : any_tracker(target_tracker(target_of(t)));
}

}  // namespace

training_progress::training_progress(target_config const& of) : tracker_(tracker_of(of)), target(&of) {}

std::uint32_t training_progress::tier() const noexcept {
    return std::visit([](auto const& t) { return t.tier(); }, tracker_);
}

std::optional<double> training_progress::smoothed() const noexcept {
    return std::visit([](auto const& t) { return t.smoothed(); }, tracker_);
}

std::optional<double> training_progress::best() const noexcept {
    auto const* const tiers = std::get_if<target_tracker>(&tracker_);
    return tiers == nullptr ? std::nullopt : tiers->best();
}

std::optional<double> training_progress::next_target() const noexcept {
    if (tier() >= two_tier_target::objective_tier) return std::nullopt;
    bool const is_first = tier() < two_tier_target::acceptable_tier && target->acceptable;
    return is_first ? target->acceptable : target->objective;
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
    if (!first_value) first_value = value;
    if (auto* const level = std::get_if<level_tracker>(&tracker_)) {
        level->see(value, at);
        return false;
    }
    auto& tracker = std::get<target_tracker>(tracker_);
    std::uint32_t const before = tracker.tier();
    tracker.see(value, count);
    if (tracker.tier() >= two_tier_target::acceptable_tier && !acceptable_at) acceptable_at = at;
    if (tracker.tier() >= two_tier_target::objective_tier && !objective_at) objective_at = at;
    return tracker.tier() != before;
}

bool training_progress::update_level(nanoseconds now) noexcept {
    auto* const level = std::get_if<level_tracker>(&tracker_);
    if (level == nullptr) return false;
    level->update(now);
    bool const holds = level->tier() > 0;
    return std::exchange(held_, holds) != holds;
}

void training_progress::end_incarnation(nanoseconds now) noexcept {
    if (auto* const level = std::get_if<level_tracker>(&tracker_))
        level->pause(now);
    else
        std::get<target_tracker>(tracker_).clear_window();
}

std::vector<training_progress> initial_progress(std::span<live_job const> jobs) {
    std::vector<training_progress> out;
    for (auto const& job : jobs) out.emplace_back(job.config->target);
    return out;
}

}  // namespace ration::program
