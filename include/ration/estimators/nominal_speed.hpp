// SPDX-License-Identifier: BSL-1.0
/// nominal_speed: the speed of a job on the devices that its user requested, from the speed that was measured there.
///
/// For policies that compare jobs by their time alone, on a host that measures speeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

#include <ration/estimator.hpp>
#include <ration/job_memory.hpp>
#include <ration/target.hpp>

namespace ration::estimators {

/// The last measured speed of a job on the devices that it requested. Until there is one, its last measured speed on
/// other devices counts, in proportion to their number; NaN before it has run.
///
/// A job without a number of steps and without a loss to reach has 1 step/s until one is measured. Its length is then a
/// time, that of similar jobs (`duration`), which is known before it runs.
///
/// O(jobs). State: 9 bytes for each job.
class nominal_speed {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads.
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<double, "jobs/measured_steps_per_second">,
                           in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "jobs/request.gpu">,
                           in<double, "jobs/loss.target">, in<double, "jobs/total_steps.reported">>;
    /// The columns that `estimate` writes.
    using outputs = columns<out<double, "jobs/nominal_steps_per_second">>;
    /// Identity of the estimator.
    static constexpr meta about{
        .id = "ration.nominal-speed", .version = "1.0.0", .summary = "speed on the requested devices, once measured"};

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes `jobs/nominal_steps_per_second`.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            jobs_[row].take(t.get<"jobs/measured_steps_per_second">()[row], t.get<"jobs/held.gpu">()[row],
                            t.get<"jobs/request.gpu">()[row]);
            double const per_second = jobs_[row].per_second;
            to.get<"jobs/nominal_steps_per_second">()[row] =
                is_finite(per_second) || has_length(t, row) ? per_second : 1;
        }
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    struct speed {
        double per_second = std::numeric_limits<double>::quiet_NaN();
        bool is_measured = false;  // on the requested devices

        void take(double measured, std::int64_t held, std::int64_t request) noexcept {
            if (!(measured > 0) || held <= 0 || (is_measured && held != request)) return;
            is_measured = held == request;
            per_second = measured * static_cast<double>(request) / static_cast<double>(held);
        }
        /// For saved state.
        static auto fields(auto& self) noexcept { return std::tie(self.per_second, self.is_measured); }
        [[nodiscard]] static bool sane() noexcept { return true; }
    };

    job_memory<speed> jobs_;

    /// It has a number of steps, or will have one once its losses predict it.
    [[nodiscard]] static bool has_length(tick<inputs> const& t, std::size_t row) noexcept {
        return t.get<"jobs/total_steps.reported">()[row] > 0 || is_finite(t.get<"jobs/loss.target">()[row]);
    }
};

static_assert(Estimator<nominal_speed>);

}  // namespace ration::estimators
