// SPDX-License-Identifier: BSL-1.0
/// duration: the number of all steps of a job that has no loss to predict it from, by the times that similar jobs took.
///
/// For policies that order jobs by their length (srtf, sjf, gittins) on a host where neither a target nor the job
/// itself states it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include <ration/estimator.hpp>
#include <ration/estimators/detail/ended_jobs.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::estimators {

/// The number of steps that a job reports counts, in `jobs/total_steps.reported`. A job with a `jobs/loss.target` is
/// left to the estimator `remaining`. All others are expected to take as long as those of the last 512 ended jobs that
/// took longer than they have: of their tenant with the same number of requested devices, if 5 of these have ended;
/// else of all tenants with that number; else of all jobs. Until 5 jobs have ended the estimate is unknown (NaN).
///
/// A time is that on the requested devices: device-seconds divided by their number. Jobs that failed do not count. The
/// estimate is the steps made, and those that the job makes at its nominal speed in the expected rest of its time.
///
/// O(jobs), and about 1 us for each job that ends. State: 20 bytes for each ended job, and 9 for each job.
class duration {
public:
    /// Declares the class as an estimator.
    using estimator_concept = estimator_tag;
    /// The columns that `estimate` reads.
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tenant">,
                in<std::uint64_t, "jobs/step">, in<double, "jobs/loss.target">, in<std::int64_t, "jobs/request.gpu">,
                in<double, "jobs/attained">, in<double, "jobs/nominal_steps_per_second">,
                in<double, "jobs/total_steps.reported">>;
    /// The columns that `estimate` writes.
    using outputs = columns<out<double, "jobs/total_steps">>;
    /// Identity of the estimator.
    static constexpr meta about{
        .id = "ration.duration", .version = "1.0.0", .summary = "steps of the whole job, by the times of ended jobs"};

    /// Allocates for the largest tables, so that `estimate` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        ended_.reserve();
        return status::ok;
    }

    /// Writes `jobs/total_steps`.
    void estimate(tick<inputs> const& t, estimates<outputs> const& to) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        for (std::size_t row = 0; row < t.jobs(); ++row) count_if_ended(t, row);
        auto const totals = to.get<"jobs/total_steps">();
        for (std::size_t row = 0; row < t.jobs(); ++row) totals[row] = total_of(t, row);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        ended_.save(out);
        jobs_.save(out);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        detail::ended_jobs ended;
        job_memory<memory> jobs;
        jobs.reserve(jobs_.capacity());
        if (!ended.load(in) || !jobs.load(in) || !in.finished()) return status::state;
        ended_ = std::move(ended);
        jobs_ = std::move(jobs);
        return status::ok;
    }

private:
    struct memory {
        bool is_counted = false;
        /// For saved state.
        static auto fields(auto& self) noexcept { return std::tie(self.is_counted); }
        [[nodiscard]] static bool sane() noexcept { return true; }
    };

    detail::ended_jobs ended_;
    job_memory<memory> jobs_;

    [[nodiscard]] static detail::job_class class_of(tick<inputs> const& t, std::size_t row) noexcept {
        return {t.get<"jobs/tenant">()[row], t.get<"jobs/request.gpu">()[row]};
    }
    /// Seconds on the requested devices so far. Precondition: the job requests devices.
    [[nodiscard]] static double seconds_of(tick<inputs> const& t, std::size_t row) noexcept {
        return t.get<"jobs/attained">()[row] / static_cast<double>(t.get<"jobs/request.gpu">()[row]);
    }
    [[nodiscard]] static bool is_done(tick<inputs> const& t, std::size_t row) noexcept {
        return static_cast<job_state>(t.get<"jobs/state">()[row]) == job_state::done;
    }

    void count_if_ended(tick<inputs> const& t, std::size_t row) noexcept {
        if (jobs_[row].is_counted || !is_done(t, row) || t.get<"jobs/request.gpu">()[row] <= 0) return;
        jobs_[row].is_counted = true;
        double const seconds = seconds_of(t, row);
        if (is_finite(seconds) && seconds > 0) ended_.add(class_of(t, row), seconds);
    }

    [[nodiscard]] double total_of(tick<inputs> const& t, std::size_t row) const noexcept {
        double const reported = t.get<"jobs/total_steps.reported">()[row];
        if (reported > 0) return reported;
        auto const step = static_cast<double>(t.get<"jobs/step">()[row]);
        if (is_done(t, row)) return step;
        if (is_finite(t.get<"jobs/loss.target">()[row]) || t.get<"jobs/request.gpu">()[row] <= 0)
            return detail::unknown;
        double const total =
            step + t.get<"jobs/nominal_steps_per_second">()[row] * ended_.rest(class_of(t, row), seconds_of(t, row));
        return is_finite(total) ? total : detail::unknown;
    }
};

static_assert(Estimator<duration>);

}  // namespace ration::estimators
