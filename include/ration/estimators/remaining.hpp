// SPDX-License-Identifier: BSL-1.0
/// remaining: the steps that a job still has to its next tier, from its losses, or to its end.
///
/// For policies that read `jobs/remaining` on a host that lacks it. Sources: the curve 1 / (a s + b) + c and the
/// weights of the thirds of the points, from Y. Peng et al., "Optimus: An Efficient Dynamic Resource Scheduler for Deep
/// Learning Clusters", EuroSys 2018.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/estimator.hpp>
#include <ration/estimators/detail/loss_history.hpp>
#include <ration/job_memory.hpp>

namespace ration::estimators {

/// Choices of a host.
struct remaining_options {
    bool uses_totals = true;  ///< a job ends after `jobs/total_steps`, where that is known
};

/// A job with a `jobs/loss.target` reaches it where one of two curves does, Optimus's 1 / (a s + b) + c or the power
/// law floor + p (1 + s / scale)^-e. Both are fitted to its losses, and the one counts that predicts the newest fifth
/// of them better. The estimate is unknown (NaN) until there are 20 losses, each after further steps.
///
/// A user chooses a target that can be reached. A rough estimate follows from that alone: the loss falls from its first
/// value as 1 / (a s + b) + c, and c is below the target by a twentieth of the whole fall. The curves may deviate from
/// it by a factor of 4. If the target is below the floor of the curve, the rough estimate counts. It is unknown no
/// longer: a policy by length would leave a job of unknown length until all others end, and no further loss would come.
///
/// A job with `jobs/total_steps` has no more than the rest of these.
///
/// O(jobs), and a fit of about 20 us for a job after every 20 losses, or a quarter more. State: 0.8 KB for each job.
class remaining {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads.
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint64_t, "jobs/step">, in<double, "jobs/loss">,
                           in<double, "jobs/loss.target">, in<double, "jobs/total_steps">>;
    /// The columns that `estimate` writes.
    using outputs = columns<out<double, "jobs/remaining">>;
    /// Identity of the estimator.
    static constexpr meta about{.id = "ration.remaining",
                                .version = "1.0.0",
                                .summary = "steps to the next tier, from the losses or the number of all steps"};

    /// With the default options.
    remaining() = default;
    /// With these options.
    explicit remaining(remaining_options const& options) noexcept : options_(options) {}

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes `jobs/remaining`.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        auto const values = to.get<"jobs/remaining">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            auto const step = static_cast<double>(t.get<"jobs/step">()[row]);
            double const by_loss =
                steps_to_target(row, step, t.get<"jobs/loss">()[row], t.get<"jobs/loss.target">()[row]);
            double const total = t.get<"jobs/total_steps">()[row];
            double const by_total = options_.uses_totals ? steps_to_end(step, total) : detail::unknown;
            values[row] = by_total >= by_loss || by_total != by_total ? by_loss : by_total;
        }
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    remaining_options options_;
    job_memory<detail::loss_history> jobs_;

    /// NaN if the number of all steps is unknown.
    [[nodiscard]] static double steps_to_end(double step, double total) noexcept {
        if (!is_finite(total)) return detail::unknown;
        return total > step ? total - step : 0;
    }

    /// NaN if the job has no target, or too few losses.
    [[nodiscard]] double steps_to_target(std::size_t row, double step, double loss, double target) noexcept {
        // A host shows 0 before the first report, and the loss of a job without steps has no meaning.
        if (!is_finite(target) || loss == 0 || step == 0) return detail::unknown;
        jobs_[row].report(step, loss, target);
        double const end = jobs_[row].reach(target).step;
        return end < step ? 0 : end - step;  // NaN if it is unknown
    }
};

static_assert(Estimator<remaining>);

}  // namespace ration::estimators
