// SPDX-License-Identifier: BSL-1.0
/// A job as it was recorded: its loss by step, and the steps of its tiers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <ration/estimators/loss_forecast.hpp>
#include <ration/sim/model.hpp>

namespace ration::program {

/// The losses and tiers of a recorded job. Steps count from its first one.
struct learning_record {
    std::vector<estimators::loss_report> points;  ///< ascending; straight lines between them
    std::array<double, 2> tier_steps{};           ///< of Acceptable and Objective, ascending; infinity: never
    std::array<double, 2> tier_losses{};          ///< NaN: the target does not have the tier
    bool trains_on = false;                       ///< beyond its Objective, also if its policy releases it
};

/// A job of another model with recorded losses. Its own steps begin after those that the other model takes to start.
class recorded_model final : public sim::job_model {
    std::shared_ptr<job_model const> base_;
    learning_record learned_;
    double start_;

public:
    /// `start`: steps of the base model before the first step of the job. Precondition: `learned` has a point.
    recorded_model(std::shared_ptr<job_model const> base, learning_record learned, double start)
        : base_(std::move(base)), learned_(std::move(learned)), start_(start) {}

    [[nodiscard]] sim::speed_segment at(sim::job_description const& job, sim::allocation const& held,
                                        double step) const noexcept override {
        auto segment = base_->at(job, held, step);
        std::uint32_t const tier = tier_at(job, step);
        if (tier < tiers(job)) segment.until = std::min(segment.until, start_ + learned_.tier_steps[tier]);
        return segment;
    }
    void show(sim::job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
              sim::scaling const& out) const noexcept override {
        base_->show(job, step, type, devices_per_node, out);
    }
    [[nodiscard]] double cores(sim::job_description const& job) const noexcept override { return base_->cores(job); }
    [[nodiscard]] std::uint32_t tiers(sim::job_description const&) const noexcept override { return 2; }
    [[nodiscard]] std::uint32_t tier_at(sim::job_description const&, double step) const noexcept override {
        std::uint32_t tier = 0;
        while (tier < 2 && start_ + learned_.tier_steps[tier] <= step) ++tier;
        return tier;
    }
    [[nodiscard]] bool trains_on(sim::job_description const&) const noexcept override { return learned_.trains_on; }

    [[nodiscard]] double loss(sim::job_description const&, double step) const noexcept override {
        double const own = step - start_;
        auto const& all = learned_.points;
        if (own < all.front().step) return std::numeric_limits<double>::quiet_NaN();  // it has reported nothing
        auto const next = std::ranges::upper_bound(all, own, {}, &estimators::loss_report::step);
        if (next == all.end()) return all.back().loss;
        auto const& before = *(next - 1);
        return std::lerp(before.loss, next->loss, (own - before.step) / (next->step - before.step));
    }
    [[nodiscard]] double loss_target(sim::job_description const& job, double step) const noexcept override {
        return learned_.tier_losses[std::min(tier_at(job, step), 1U)];
    }
};

}  // namespace ration::program
