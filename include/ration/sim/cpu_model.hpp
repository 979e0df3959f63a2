// SPDX-License-Identifier: BSL-1.0
/// Jobs of one machine that share its processors, and whose loss is what a policy looks at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ration/sim/model.hpp>
#include <ration/sim/rng.hpp>

namespace ration::sim {

/// The loss of training after so many steps, without its noise: what is never learned, what is learned by a power of
/// the steps, and what is learned at once. loss(s) = floor + power * (1 + s / power_steps)^-exponent + fast * exp(-s /
/// fast_steps). It never rises.
struct loss_curve {
    double floor = 0;
    double power = 0, power_steps = 1, exponent = 1;
    double fast = 0, fast_steps = 1;

    [[nodiscard]] double at(double step) const noexcept {
        double const slow = power > 0 ? std::fma(power, exact::pow(1 + step / power_steps, -exponent), floor) : floor;
        return fast > 0 ? std::fma(fast, exact::exp(-step / fast_steps), slow) : slow;
    }

    /// The first step at which the loss is at most `loss`; infinity when it never is. The error is at most a millionth
    /// of the result, or of one step. O(1).
    [[nodiscard]] double step_at(double loss) const noexcept {
        double low = 0, high = 1;
        if (at(0) <= loss) return 0;
        for (; at(high) > loss; high *= 2)
            if (high > 1e15) return std::numeric_limits<double>::infinity();
        while (high > 1e-6 && high - low > 1e-6 * high) {
            double const middle = low + (high - low) / 2;
            (at(middle) > loss ? low : high) = middle;
        }
        return high;
    }
};

/// Goes as fast as the cores that it gets, up to those that it can use. Needs no device.
class cpu_model final : public job_model {
    loss_curve curve_;
    double steps_per_core_second_, parallelism_, noise_;
    std::vector<double> tiers_, reached_;  // reached_: the steps at which the tiers are

public:
    /// `parallelism`: cores that it can use. `noise`: standard deviation of what is reported, as a share of the loss.
    /// `tiers`: losses that users ask for, the easiest first. Preconditions: speed and parallelism above 0, noise not
    /// negative; no member of the curve negative, the steps above 0.
    cpu_model(loss_curve curve, double steps_per_core_second, double parallelism, double noise,
              std::vector<double> tiers = {})
        : curve_(curve), steps_per_core_second_(steps_per_core_second), parallelism_(parallelism), noise_(noise),
          tiers_(std::move(tiers)) {
        for (double const tier : tiers_) reached_.push_back(curve_.step_at(tier));
    }

    [[nodiscard]] loss_curve const& curve() const noexcept { return curve_; }
    [[nodiscard]] std::vector<double> const& tiers() const noexcept { return tiers_; }
    [[nodiscard]] double parallelism() const noexcept { return parallelism_; }

    /// Holds up to the next tier.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        std::uint32_t const tier = tier_at(job, step);
        return {.steps_per_second = held.slowest * (steps_per_core_second_ * std::clamp(held.cores, 0.0, parallelism_)),
                .until = tier < reached_.size() ? reached_[tier] : std::numeric_limits<double>::infinity()};
    }
    [[nodiscard]] double cores(job_description const&) const noexcept override { return parallelism_; }
    [[nodiscard]] std::uint32_t tiers(job_description const&) const noexcept override {
        return static_cast<std::uint32_t>(tiers_.size());
    }
    [[nodiscard]] std::uint32_t tier_at(job_description const&, double step) const noexcept override {
        std::uint32_t tier = 0;
        while (tier < reached_.size() && reached_[tier] <= step) ++tier;
        return tier;
    }
    /// Devices do not make it faster.
    void show(job_description const& job, double, std::uint32_t, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = 0;
            out.batch[k] = job.batch;
        }
    }
    [[nodiscard]] double loss(job_description const&, double step) const noexcept override { return curve_.at(step); }

    [[nodiscard]] bool is_noisy(job_description const&) const noexcept override { return noise_ > 0; }
    /// At a whole step. Never negative.
    [[nodiscard]] double reported_loss(job_description const&, std::uint64_t seed, std::uint64_t id,
                                       double step) const noexcept override {
        double const loss = curve_.at(std::floor(step));
        return std::max(loss * std::fma(noise_, rng(seed, id).normal(static_cast<std::uint64_t>(step)), 1.0), 0.0);
    }
};

}  // namespace ration::sim
