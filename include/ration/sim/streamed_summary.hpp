// SPDX-License-Identifier: BSL-1.0
/// The figures of a run whose jobs are a stream, without a list of all jobs.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ration/sim/active_values.hpp>
#include <ration/sim/summary.hpp>
#include <ration/sim/time_distribution.hpp>

namespace ration::sim {

/// Adds up the figures of jobs on devices as they end. They are those of `figures_of`, except for the quantiles, which
/// have the error of `time_distribution`, and for the rounding of sums. Jobs that have not arrived at the end of the
/// run do not count. Precondition: no job runs on processors. Memory: 24 bytes for each active job, and 1 MB.
class streamed_summary final : public run_observer {
    needs_reader reader_;
    double devices_;
    active_values<double> there_before_{};  // by job: the integral at its submission
    // The integral of the number of jobs in the system up to `since_`
    double integral_ = 0, there_ = 0, since_ = 0;
    time_distribution jct_{}, wait_{};
    figures f_{};
    nanoseconds first_{-1};
    nanoseconds last_{};
    double held_ = 0, lost_ = 0, restarts_ = 0, deadlines_ = 0;
    double met_ = 0;
    double progress_ = 0, squares_ = 0, rho_ = 0, above_ = 0;
    std::uint64_t with_rho_ = 0;
    /// The mean time to a tier.
    struct tier_mean {
        double sum = 0, number = 0;
        void add(nanoseconds from, nanoseconds to) noexcept {
            if (to.count < 0) return;
            sum += to_seconds(to - from);
            number += 1;
        }
        [[nodiscard]] double mean() const noexcept { return number > 0 ? sum / number : no_figure; }
    };
    tier_mean acceptable_{};
    tier_mean objective_{};

public:
    /// `kinds`: models of the jobs. Both arguments have to outlive the object.
    streamed_summary(workload const& kinds, cluster const& machines)
        : reader_(kinds, machines), devices_(static_cast<double>(devices_of(machines))) {}
    streamed_summary(workload const&, cluster&&) = delete;

    /// Notes an arrival.
    void submitted(nanoseconds now, std::uint64_t job) noexcept override {
        if (first_.count < 0) first_ = now;
        there_before_.add(job, integral_at(now));
        there_ += 1;
    }
    /// Not needed.
    void holds(nanoseconds, std::uint64_t, std::int64_t) noexcept override {}
    /// Notes that a job has left.
    void finished(nanoseconds now, std::uint64_t) noexcept override {
        static_cast<void>(integral_at(now));
        there_ -= 1;
    }
    /// Adds a job. Called after `finished`, if it has ended. Cost: that of its model for an equal share.
    void outcome_of(std::uint64_t id, job_description const& job, job_outcome const& got) noexcept override {
        ++f_.jobs;
        bool const is_done = got.finished.count >= 0;
        f_.finished += is_done;
        f_.never_started += got.started.count < 0;
        f_.stops += got.stops;
        held_ += got.device_seconds;
        lost_ += got.lost_device_seconds;
        restarts_ += got.restarts;
        if (job.deadline.count >= 0) {
            deadlines_ += 1;
            met_ += is_done && got.finished <= job.deadline;
        }
        if (got.started.count >= 0) wait_.add(got.started - got.submitted);
        acceptable_.add(got.submitted, got.acceptable);
        objective_.add(got.submitted, got.objective);
        if (is_done) add_done(there_before_[id], job, got);
        there_before_.remove(id);
    }

    /// The times from submission to the end, and to the first devices.
    [[nodiscard]] time_distribution const& jct() const noexcept { return jct_; }
    [[nodiscard]] time_distribution const& wait() const noexcept { return wait_; }

    /// The figures after the run.
    [[nodiscard]] figures result(run_outcome const& run) const noexcept {
        figures f = f_;
        f.mean_jct = jct_.mean();
        f.median_jct = jct_.quantile(0.5);
        f.p95_jct = jct_.quantile(0.95);
        f.p99_jct = jct_.quantile(0.99);
        f.worst_jct = jct_.quantile(1);
        f.mean_wait = wait_.mean();
        f.p99_wait = wait_.quantile(0.99);
        f.mean_to_acceptable = acceptable_.mean();
        f.mean_to_objective = objective_.mean();
        f.faults = static_cast<double>(run.faults);
        if (run.capacity_seconds > 0) f.utilisation = held_ / run.capacity_seconds;
        if (held_ > 0) f.lost_work = lost_ / held_;
        if (f.jobs > 0) f.restarts = restarts_ / static_cast<double>(f.jobs);
        if (f.finished > 0) f.makespan = to_seconds(last_ - first_);
        if (deadlines_ > 0) f.deadlines_met = met_ / deadlines_;
        auto const n = static_cast<double>(with_rho_);
        if (squares_ > 0) f.jain = progress_ * progress_ / (n * squares_);
        if (with_rho_ > 0) f.mean_rho = rho_ / n;
        if (with_rho_ > 0) f.unfair = above_ / n;
        return f;
    }

private:
    /// Brings the integral up to `now`.
    [[nodiscard]] double integral_at(nanoseconds now) noexcept {
        double const at = to_seconds(now);
        integral_ += there_ * (at - since_);
        since_ = at;
        return integral_;
    }

    void add_done(double before, job_description const& job, job_outcome const& got) noexcept {
        jct_.add(got.finished - got.submitted);
        last_ = std::max(last_, got.finished);
        double const jct = to_seconds(got.finished - got.submitted);
        if (!(jct > 0)) return;
        job_needs const needs = reader_.of(job);
        if (!needs.possible()) return;
        double const all_there = std::max(1.0, (integral_ - before) / jct), alone = needs.seconds / jct;
        job_end const at = got.released ? job_end::last_tier : job_end::length;
        double const rho = jct / reader_.seconds_with(job, devices_ / all_there, at);
        progress_ += alone;
        squares_ += alone * alone;
        rho_ += rho;
        above_ += rho > 1 + 1e-9;
        f_.worst_rho = with_rho_++ == 0 ? rho : std::max(f_.worst_rho, rho);
    }
};

}  // namespace ration::sim
