// SPDX-License-Identifier: BSL-1.0
/// The figures of a run: one column in the table of policies.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ration/sim/needs.hpp>
#include <ration/sim/outcome.hpp>

namespace ration::sim {

/// Value of a figure that cannot be computed.
inline constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();

/// The figures of a run. Times are in seconds. Figures of jobs are over the jobs that have ended,
/// and NaN without such jobs. docs/sim.md defines each for its reader.
struct figures {
    /// Numbers of jobs.
    std::size_t jobs = 0, finished = 0, never_started = 0;
    /// Job completion time, from submission to the end.
    double mean_jct = no_figure, median_jct = no_figure, p95_jct = no_figure, p99_jct = no_figure,
           worst_jct = no_figure;
    double mean_wait = no_figure, p99_wait = no_figure;  ///< from submission to the first devices
    double makespan = no_figure;                         ///< from the first submission to the last end
    double utilisation = no_figure;                      ///< device-seconds held / available device-seconds
    double restarts = no_figure;                         ///< per job
    double jain = no_figure;                             ///< fairness index of (time alone on the cluster / JCT)
    /// JCT / time with an equal share: finish-time fairness
    double mean_rho = no_figure, worst_rho = no_figure;
    double unfair = no_figure;  ///< share of the jobs with a rho above 1
    /// Mean time from submission to a tier of the loss, over the jobs that reached it
    double mean_to_acceptable = no_figure, mean_to_objective = no_figure;
    /// Mean devices above and below the requests of services, over their time; the sum is SPEC's agility
    double excess = no_figure, shortage = no_figure;
    double level_met = no_figure;      ///< part of the time of services in which they held the devices requested
    double deadlines_met = no_figure;  ///< share of the jobs with a deadline, whether they ended or not
    double faults = 0, stops = 0;      ///< faults of the cluster, and the number of stops of jobs by them
    /// Device-seconds since the last checkpoint before a stop / device-seconds held
    double lost_work = no_figure;
    double kills = 0;  ///< of jobs by their own memory limits
    /// The amounts that limits of jobs with phases reserved / the amounts that these jobs used
    double reserved_cpu = no_figure, reserved_memory = no_figure;
};

/// The quantile of sorted values, with linear interpolation between the two nearest, as most
/// statistics programs compute it; NaN without values. `part` is from 0 to 1.
[[nodiscard]] inline double quantile(std::vector<double> const& sorted, double part) noexcept {
    if (sorted.empty()) return no_figure;
    double const place = part * static_cast<double>(sorted.size() - 1);
    auto const below = static_cast<std::size_t>(place);
    if (below + 1 >= sorted.size()) return sorted.back();
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

/// The mean; NaN without values.
[[nodiscard]] inline double mean_of(std::vector<double> const& values) noexcept {
    double sum = 0;
    for (double const v : values) sum += v;
    return values.empty() ? no_figure : sum / static_cast<double>(values.size());
}

/// The index (sum x)^2 / (n * sum x^2): 1 if all values are equal, and 1/n if one has everything.
/// Source: R. Jain, D. Chiu and W. Hawe, 1984.
[[nodiscard]] inline double jain_index(std::vector<double> const& values) noexcept {
    double sum = 0, squares = 0;
    for (double const v : values) {
        sum += v;
        squares += v * v;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : no_figure;
}

/// The number of jobs in the system at a time: submitted, and not ended.
class jobs_there {
    std::vector<double> at_;      // times of changes, ascending
    std::vector<double> sum_;     // integral of the number up to there
    std::vector<double> number_;  // the number from there on

public:
    /// Counts the jobs on processors, or those on devices. O(n log n).
    jobs_there(workload const& jobs, run_outcome const& run, bool on_cpu) {
        std::vector<std::pair<double, double>> changes;
        changes.reserve(2 * run.jobs.size());
        for (std::size_t i = 0; i < run.jobs.size(); ++i) {
            job_outcome const& job = run.jobs[i];
            if (jobs.runs_on_cpu(jobs.jobs[i]) != on_cpu) continue;
            changes.emplace_back(to_seconds(job.submitted), 1);
            if (job.finished.count >= 0) changes.emplace_back(to_seconds(job.finished), -1);
        }
        std::sort(changes.begin(), changes.end());
        double sum = 0, number = 0, last = 0;
        for (auto const& [at, change] : changes) {
            sum += number * (at - last);
            last = at;
            number += change;
            at_.push_back(at);
            sum_.push_back(sum);
            number_.push_back(number);
        }
    }

    /// The mean number over a time, at least 1. O(log n). Precondition: `from` < `to`.
    [[nodiscard]] double mean(double from, double to) const noexcept {
        return std::max(1.0, (sum_until(to) - sum_until(from)) / (to - from));
    }

private:
    /// The integral of the number up to a time.
    [[nodiscard]] double sum_until(double at) const noexcept {
        auto const above = static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end(), at) - at_.begin());
        return above == 0 ? 0 : sum_[above - 1] + number_[above - 1] * (at - at_[above - 1]);
    }
};

namespace detail {

/// One value for each job that has ended.
struct job_figures {
    std::vector<double> jct, wait, progress, rho;
};

/// Computes the values for each job.
[[nodiscard]] inline job_figures figures_of_jobs(workload const& jobs, cluster const& machines,
                                                 std::vector<job_needs> const& needs, run_outcome const& run) {
    job_figures all;
    jobs_there const on_devices(jobs, run, false), on_cpu(jobs, run, true);
    needs_reader reader(jobs, machines);
    auto const devices = static_cast<double>(devices_of(machines)), cores = cores_of(machines);
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        job_outcome const& job = run.jobs[i];
        if (job.started.count >= 0) all.wait.push_back(to_seconds(job.started - job.submitted));
        if (job.finished.count < 0) continue;
        double const jct = to_seconds(job.finished - job.submitted);
        all.jct.push_back(jct);
        // A job that cannot run alone has no figure of fairness.
        if (!(jct > 0) || !needs[i].possible()) continue;
        bool const cpu = jobs.runs_on_cpu(jobs.jobs[i]);
        job_end const at = job.released ? job_end::last_tier : job_end::length;
        // Jobs on processors and on devices do not compete with each other.
        double const all_there = (cpu ? on_cpu : on_devices).mean(to_seconds(job.submitted), to_seconds(job.finished));
        all.progress.push_back((cpu ? reader.seconds_with(jobs.jobs[i], cores, at) : needs[i].seconds) / jct);
        all.rho.push_back(jct / reader.seconds_with(jobs.jobs[i], (cpu ? cores : devices) / all_there, at));
    }
    std::sort(all.jct.begin(), all.jct.end());
    std::sort(all.wait.begin(), all.wait.end());
    return all;
}

/// Mean seconds from submission to a time, over the jobs that reached it.
[[nodiscard]] inline double mean_until(run_outcome const& run, nanoseconds job_outcome::* when) {
    std::vector<double> all;
    for (auto const& job : run.jobs)
        if ((job.*when).count >= 0) all.push_back(to_seconds(job.*when - job.submitted));
    return mean_of(all);
}

/// The two parts of the agility. Source: N. Herbst et al., "Ready for Rain? A View from SPEC Research on the Future of
/// Cloud Metrics", 2016.
inline void add_agility(workload const& jobs, run_outcome const& run, figures& f) noexcept {
    request_gap sum;
    double seconds = 0;
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        job_outcome const& job = run.jobs[i];
        if (!jobs.models[jobs.jobs[i].model]->makes_requests() || job.submitted.count < 0) continue;
        sum.excess += job.requests.excess;
        sum.shortage += job.requests.shortage;
        sum.met += job.requests.met;
        seconds += to_seconds((job.finished.count >= 0 ? job.finished : run.end) - job.submitted);
    }
    if (!(seconds > 0)) return;
    f.excess = sum.excess / seconds;
    f.shortage = sum.shortage / seconds;
    f.level_met = sum.met / seconds;
}

/// The amounts that limits reserved. A job without a limit reserves its own largest demand.
inline void add_reserved(run_outcome const& run, figures& f) noexcept {
    reserved_amount cpu, memory;
    for (auto const& job : run.jobs)
        for (auto const& [sum, use] : {std::pair{&cpu, &job.use.cpu}, std::pair{&memory, &job.use.memory}}) {
            sum->used += use->sum.used;
            sum->reserved += use->sum.reserved;
        }
    if (cpu.used > 0) f.reserved_cpu = cpu.reserved / cpu.used;
    if (memory.used > 0) f.reserved_memory = memory.reserved / memory.used;
}

/// Computes the figures that need no models.
inline void add_counts(workload const& jobs, run_outcome const& run, figures& f) noexcept {
    nanoseconds last{};
    double held = 0, lost = 0, restarts = 0, deadlines = 0, met = 0;
    for (std::size_t i = 0; i < run.jobs.size(); ++i) {
        job_outcome const& job = run.jobs[i];
        f.finished += job.finished.count >= 0;
        f.never_started += job.started.count < 0;
        held += job.device_seconds;
        lost += job.lost_device_seconds;
        f.stops += job.stops;
        f.kills += job.kills;
        restarts += job.restarts;
        if (last < job.finished) last = job.finished;
        if (jobs.jobs[i].deadline.count < 0) continue;
        deadlines += 1;
        met += job.finished.count >= 0 && job.finished <= jobs.jobs[i].deadline;
    }
    if (run.capacity_seconds > 0) f.utilisation = held / run.capacity_seconds;
    f.faults = static_cast<double>(run.faults);
    if (held > 0) f.lost_work = lost / held;
    if (f.jobs > 0) f.restarts = restarts / static_cast<double>(f.jobs);
    if (f.finished > 0) f.makespan = to_seconds(last - jobs.jobs.front().submitted);
    if (deadlines > 0) f.deadlines_met = met / deadlines;
}

}  // namespace detail

/// Computes all figures. `needs` is the result of `needs_of` for the same workload and cluster. O(n
/// log n), and the time of the models for equal shares.
///
/// Finish-time fairness is the rho of K. Mahajan et al., "Themis", NSDI 2020: JCT / T. T is the
/// time that the job would take alone with an equal share of the cluster: all devices, divided by
/// the mean number of jobs in the system during its JCT. For a job on processors it is all cores,
/// divided by the jobs that share them. For a released job both times end at its release.
[[nodiscard]] inline figures figures_of(workload const& jobs, cluster const& machines,
                                        std::vector<job_needs> const& needs, run_outcome const& run) {
    figures f{.jobs = run.jobs.size()};
    detail::add_counts(jobs, run, f);
    detail::add_agility(jobs, run, f);
    detail::add_reserved(run, f);
    auto const all = detail::figures_of_jobs(jobs, machines, needs, run);
    f.mean_jct = mean_of(all.jct);
    f.median_jct = quantile(all.jct, 0.5);
    f.p95_jct = quantile(all.jct, 0.95);
    f.p99_jct = quantile(all.jct, 0.99);
    f.worst_jct = quantile(all.jct, 1);
    f.mean_wait = mean_of(all.wait);
    f.p99_wait = quantile(all.wait, 0.99);
    f.mean_to_acceptable = detail::mean_until(run, &job_outcome::acceptable);
    f.mean_to_objective = detail::mean_until(run, &job_outcome::objective);
    f.jain = jain_index(all.progress);
    if (all.rho.empty()) return f;
    f.mean_rho = mean_of(all.rho);
    f.worst_rho = *std::max_element(all.rho.begin(), all.rho.end());
    auto const above = std::count_if(all.rho.begin(), all.rho.end(), [](double rho) { return rho > 1 + 1e-9; });
    f.unfair = static_cast<double>(above) / static_cast<double>(all.rho.size());
    return f;
}

}  // namespace ration::sim
