// SPDX-License-Identifier: BSL-1.0
/// A loss for jobs whose model has none: their speed is that of the model, and their loss falls along a recorded curve
/// to a target, where they end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ration/sim/cpu_model.hpp>
#include <ration/sim/model.hpp>
#include <ration/sim/rng.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// Jobs of another model with the curve of a `cpu_model`, stretched so that each job reaches the hardest tier of that
/// curve at its end. A reported loss is the mean of 20 steps, which divides the noise by the root of 20.
class learning_model final : public job_model {
    std::shared_ptr<job_model const> base_;
    loss_curve curve_;
    double target_, end_, noise_;  // end_: the step of the curve at which it reaches the target

    static constexpr double steps_per_report = 20;

public:
    /// Precondition: `can_follow(curve)`.
    learning_model(std::shared_ptr<job_model const> base, cpu_model const& curve)
        : base_(std::move(base)), curve_(curve.curve()), target_(curve.tiers().back()), end_(curve_.step_at(target_)),
          noise_(curve.noise() / std::sqrt(steps_per_report)) {}

    /// Whether jobs can end where the curve reaches its hardest tier.
    [[nodiscard]] static bool can_follow(cpu_model const& curve) noexcept {
        return !curve.tiers().empty() && std::isfinite(curve.curve().step_at(curve.tiers().back()));
    }

    /// As the other model.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        return base_->at(job, held, step);
    }
    /// As the other model.
    void show(job_description const& job, double step, std::uint32_t type, std::int64_t devices_per_node,
              scaling const& out) const noexcept override {
        base_->show(job, step, type, devices_per_node, out);
    }
    /// As the other model.
    [[nodiscard]] bool is_asynchronous() const noexcept override { return base_->is_asynchronous(); }
    /// As the other model.
    [[nodiscard]] bool feels_contention() const noexcept override { return base_->feels_contention(); }
    /// As the other model.
    [[nodiscard]] double cores(job_description const& job) const noexcept override { return base_->cores(job); }

    /// The loss without noise.
    [[nodiscard]] double loss(job_description const& job, double step) const noexcept override {
        return curve_.at(step / job.length * end_);
    }
    /// The loss at which jobs end.
    [[nodiscard]] double loss_target(job_description const&, double) const noexcept override { return target_; }
    /// True if reports have noise.
    [[nodiscard]] bool is_noisy(job_description const&) const noexcept override { return noise_ > 0; }
    /// The reported loss at a whole step; never negative.
    [[nodiscard]] double reported_loss(job_description const& job, std::uint64_t seed, std::uint64_t id,
                                       double step) const noexcept override {
        double const exactly = loss(job, std::floor(step));
        return std::max(exactly * std::fma(noise_, rng(seed, id).normal(static_cast<std::uint64_t>(step)), 1.0), 0.0);
    }
};

/// Gives each job on devices a loss, along one of the curves in turn. O(models * curves + jobs).
inline void add_losses(workload& to, std::vector<std::shared_ptr<cpu_model const>> const& curves) {
    auto const models = to.models;
    auto const names = to.model_names;
    for (std::size_t m = 0; m < models.size(); ++m)
        for (auto const& curve : curves) {
            to.models.push_back(std::make_shared<learning_model>(models[m], *curve));
            to.model_names.push_back(names[m]);
        }
    for (std::size_t i = 0; i < to.jobs.size(); ++i)
        if (auto& job = to.jobs[i]; !to.runs_on_cpu(job))
            job.model = static_cast<std::uint32_t>(models.size() + job.model * curves.size() + i % curves.size());
}

}  // namespace ration::sim
