// SPDX-License-Identifier: BSL-1.0
/// Models of jobs that share the processors of a machine and report a loss to their policy.
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

/// The loss of training after a number of steps, without noise. It is the sum of a part that is
/// never learned, a part that follows a power law, and a part that is learned quickly:
///
///     loss(s) = floor + power * (1 + s / power_steps)^-exponent + fast * exp(-s / fast_steps)
///
/// It never rises.
struct loss_curve {
    /// The limit for many steps.
    double floor = 0;
    /// Size, scale in steps and exponent of the slow part.
    double power = 0, power_steps = 1, exponent = 1;
    /// Size and scale in steps of the fast part.
    double fast = 0, fast_steps = 1;

    /// The loss after `step` steps.
    [[nodiscard]] double at(double step) const noexcept {
        double const slow = power > 0 ? std::fma(power, exact::pow(1 + step / power_steps, -exponent), floor) : floor;
        return fast > 0 ? std::fma(fast, exact::exp(-step / fast_steps), slow) : slow;
    }

    /// The first step at which the loss is at most `loss`; infinity if it never is. The error is at
    /// most a millionth of the result, or of one step. O(1).
    [[nodiscard]] double step_at(double loss) const noexcept {
        double low = 0, high = 1;
        if (at(0) <= loss) return 0;
        // Doubling, then bisection: the curve never rises.
        for (; at(high) > loss; high *= 2)
            if (high > 1e15) return std::numeric_limits<double>::infinity();
        while (high > 1e-6 && high - low > 1e-6 * high) {
            double const middle = low + (high - low) / 2;
            (at(middle) > loss ? low : high) = middle;
        }
        return high;
    }
};

/// A job whose speed is proportional to its cores, up to the number that it can use. It needs no
/// device.
class cpu_model final : public job_model {
    loss_curve curve_;
    double steps_per_core_second_, parallelism_, noise_;
    std::vector<double> tiers_, reached_;  // reached_: the steps at which the tiers are

public:
    /// `parallelism` is the number of cores that it can use. `noise` is the standard deviation of
    /// reports, as a share of the loss. `tiers` are losses that users request, the easiest first.
    /// Preconditions: speed and parallelism above 0, noise not negative; no member of the curve
    /// negative, the scales above 0.
    cpu_model(loss_curve curve, double steps_per_core_second, double parallelism, double noise,
              std::vector<double> tiers = {})
        : curve_(curve), steps_per_core_second_(steps_per_core_second), parallelism_(parallelism), noise_(noise),
          tiers_(std::move(tiers)) {
        for (double const tier : tiers_) reached_.push_back(curve_.step_at(tier));
    }

    /// The loss curve.
    [[nodiscard]] loss_curve const& curve() const noexcept { return curve_; }
    /// The losses of the tiers.
    [[nodiscard]] std::vector<double> const& tiers() const noexcept { return tiers_; }
    /// The standard deviation of reports, as a share of the loss.
    [[nodiscard]] double noise() const noexcept { return noise_; }
    /// The cores that it can use.
    [[nodiscard]] double parallelism() const noexcept { return parallelism_; }

    /// The speed, which holds up to the next tier.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held,
                                   double step) const noexcept override {
        std::uint32_t const tier = tier_at(job, step);
        return {.steps_per_second = held.slowest * (steps_per_core_second_ * std::clamp(held.cores, 0.0, parallelism_)),
                .until = tier < reached_.size() ? reached_[tier] : std::numeric_limits<double>::infinity()};
    }
    /// The cores that it can use.
    [[nodiscard]] double cores(job_description const&) const noexcept override { return parallelism_; }
    /// The number of tiers.
    [[nodiscard]] std::uint32_t tiers(job_description const&) const noexcept override {
        return static_cast<std::uint32_t>(tiers_.size());
    }
    /// The number of tiers reached after `step` steps.
    [[nodiscard]] std::uint32_t tier_at(job_description const&, double step) const noexcept override {
        std::uint32_t tier = 0;
        while (tier < reached_.size() && reached_[tier] <= step) ++tier;
        return tier;
    }
    /// Shows a goodput of 0 for every number of devices.
    void show(job_description const& job, double, std::uint32_t, std::int64_t,
              scaling const& out) const noexcept override {
        for (std::size_t k = 0; k < out.goodput.size(); ++k) {
            out.goodput[k] = out.goodput_fixed[k] = 0;
            out.batch[k] = job.batch;
        }
    }
    /// The loss without noise.
    [[nodiscard]] double loss(job_description const&, double step) const noexcept override { return curve_.at(step); }

    /// The loss of the next tier.
    [[nodiscard]] double loss_target(job_description const& job, double step) const noexcept override {
        std::uint32_t const tier = tier_at(job, step);
        return tier < tiers_.size() ? tiers_[tier] : std::numeric_limits<double>::quiet_NaN();
    }

    /// True if reports have noise.
    [[nodiscard]] bool is_noisy(job_description const&) const noexcept override { return noise_ > 0; }
    /// The reported loss at a whole step; never negative.
    [[nodiscard]] double reported_loss(job_description const&, std::uint64_t seed, std::uint64_t id,
                                       double step) const noexcept override {
        double const loss = curve_.at(std::floor(step));
        return std::max(loss * std::fma(noise_, rng(seed, id).normal(static_cast<std::uint64_t>(step)), 1.0), 0.0);
    }
};

}  // namespace ration::sim
