// SPDX-License-Identifier: BSL-1.0
/// Lower bounds on mean completion time and makespan, which no policy can beat, not even one with
/// knowledge of the future.
///
/// Printed by `ration sim` beside the results of policies. needs.hpp computes the needs of single
/// jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include <ration/sim/needs.hpp>
#include <ration/sim/price_bound.hpp>

namespace ration::sim {

/// Lower bounds in seconds, over the jobs that can run on the cluster. They hold for every
/// schedule, up to the rounding of the simulation's clock, if the models show the best speed of a
/// job: no batch and no placement makes it faster.
struct lower_bounds {
    /// Mean of the times from submission to end.
    double mean_jct = 0;
    double makespan = 0;   ///< from the first submission to the last end
    std::size_t jobs = 0;  ///< jobs that can run
};

/// A job as the bounds see it, with times in seconds and work in device-seconds or core-seconds.
struct bounded_job {
    /// Seconds from the start of the trace.
    double submitted = 0;
    /// Its least time and work.
    job_needs needs;
};

namespace detail {

/// The job that a machine serves first: the one with the least work left, or with the least work in
/// total.
enum class served_first : unsigned char { least_left, least_work };

/// Simulates one machine with the speed of all devices together. It serves one job at a time, and
/// interrupts it for a better one, as `by` selects. Calls `piece(job, from, to, done)` for each
/// segment; `done` is true for the last segment of a job. Precondition: in order of submission. O(n
/// log n).
template <class Piece>
void serve_on_one_machine(std::vector<bounded_job> const& jobs, double speed, served_first by, Piece piece) {
    using waiting = std::pair<double, std::size_t>;
    std::priority_queue<waiting, std::vector<waiting>, std::greater<>> queue;
    std::vector<double> left;
    left.reserve(jobs.size());
    for (auto const& job : jobs) left.push_back(job.needs.work / speed);
    double now = 0;
    for (std::size_t next = 0; next < jobs.size() || !queue.empty();) {
        if (queue.empty()) now = std::max(now, jobs[next].submitted);
        for (; next < jobs.size() && jobs[next].submitted <= now; ++next) queue.emplace(left[next], next);
        auto const [rank, job] = queue.top();
        queue.pop();
        double const end = now + left[job];
        // An arrival interrupts the job: it may be the better one.
        if (next < jobs.size() && jobs[next].submitted < end) {
            double const until = jobs[next].submitted;
            piece(job, now, until, false);
            left[job] -= until - now;
            queue.emplace(by == served_first::least_left ? left[job] : rank, job);
            now = until;
        } else {
            piece(job, now, end, true);
            now = end;
        }
    }
}

/// The sum of completion times of the schedule "shortest remaining work first" on one machine.
///
/// A running job takes devices, and gets at most one device-second of work from each, with work as
/// in `job_needs`. So any schedule is also a schedule of a single machine of speed C that can
/// divide itself among jobs. On that machine, the shortest remaining work first has the most jobs
/// done at any time (L. Schrage, "A proof of the optimality of the shortest remaining processing
/// time discipline", 1968). Dividing the machine does not help. For every n, the remaining work of
/// all jobs but the n longest is never more than with any other schedule: nothing reduces it
/// faster, and an arrival adds the same to both. Hence the sum of completions of any schedule is at
/// least this sum.
[[nodiscard]] inline double least_left_sum(std::vector<bounded_job> const& jobs, double speed) {
    double sum = 0;
    serve_on_one_machine(jobs, speed, served_first::least_left, [&](std::size_t, double, double to, bool done) {
        if (done) sum += to;
    });
    return sum;
}

/// The mean-busy-time bound on the sum of completion times.
///
/// Let M be the mean, over a job's work, of the time at which it is done. From each point of its
/// work a job needs some seconds to its end; their mean over the work is `job_needs::after`. So it
/// ends at M + after at the earliest. Work done at time t contributes t / (the job's work) to the
/// sum of all M. That sum is least if the single machine serves the job with the least total work
/// (by exchanging two pieces of work). This is the relaxation of M. X. Goemans et al., "Single
/// machine scheduling with release dates", 2002; without releases it is the bound of Eastman, Even
/// and Isaacs, 1964.
[[nodiscard]] inline double mean_busy_sum(std::vector<bounded_job> const& jobs, double speed) {
    double sum = 0;
    for (auto const& job : jobs) sum += job.needs.after;
    serve_on_one_machine(jobs, speed, served_first::least_work, [&](std::size_t job, double from, double to, bool) {
        if (from < to) sum += (to - from) * speed / jobs[job].needs.work * (from + to) / 2;
    });
    return sum;
}

/// The sum of completion times of jobs on one machine, and the last of them, in seconds.
struct completions {
    double sum = 0, last = 0;
};

/// Lower bounds for the jobs of one kind. Precondition: `jobs` in order of submission, each of
/// which can run. The sum is the best of three bounds: each job alone, and the two above. The last
/// completion is bounded by each job alone, and by the work that arrives from some time on. O(n log
/// n).
[[nodiscard]] inline completions earliest_completions(std::vector<bounded_job> const& jobs, double speed) {
    double alone = 0, last = 0, work = 0;
    for (auto const& job : jobs) {
        alone += job.submitted + job.needs.seconds;
        last = std::max(last, job.submitted + job.needs.seconds);
    }
    for (std::size_t i = jobs.size(); i-- > 0;) {
        work += jobs[i].needs.work;
        last = std::max(last, jobs[i].submitted + work / speed);
    }
    return {std::max({alone, least_left_sum(jobs, speed), mean_busy_sum(jobs, speed)}), last};
}

/// The sum of completion times by `price_bound`; 0 for too many jobs. Prices are 0 after 1.3 times the least makespan.
/// O(segments of all jobs) and the time of `price_bound`.
[[nodiscard]] inline double priced_sum(workload const& jobs, std::vector<job_needs> const& needs,
                                       cluster const& machines, bool on_cpu, completions const& least) {
    if (needs.size() > price_bound::most_jobs) return 0;
    needs_reader reader(jobs, machines);
    priced_jobs all;
    double submitted = 0, first = least.last;
    for (std::size_t i = 0; i < needs.size(); ++i) {
        auto const& job = jobs.jobs[i];
        if (!needs[i].possible() || jobs.runs_on_cpu(job) != on_cpu) continue;
        double const at = to_seconds(job.submitted), start = at + (on_cpu ? 0 : job.restart_cost);
        all.begin(start);
        reader.each_curve(job, [&](double steps, speed_curve curve) { all.add_segment(steps, std::move(curve)); });
        all.end();
        submitted += start;
        first = std::min(first, at);
    }
    if (all.jobs().empty()) return 0;
    double const capacity = on_cpu ? cores_of(machines) : static_cast<double>(devices_of(machines));
    return submitted + price_bound(all, capacity, first + 1.3 * (least.last - first)).least_sum();
}

}  // namespace detail

/// The bounds of a workload; `needs` has one entry for each job. O(n log n).
///
/// Jobs on processors are bounded like those on devices, with core-seconds for device-seconds. All
/// cores together are a machine that divides itself. The shares of all jobs never exceed its cores;
/// with c cores a job does c core-seconds of work a second, up to the cores that it can use; and
/// alone it needs its work / (usable cores). Both proofs require no more. Work behind the last tier
/// of a job's loss does not count, since a policy may release the job there. No job uses both
/// kinds, so sums of completions add up, and the last end is the later one.
[[nodiscard]] inline lower_bounds bounds_of(workload const& jobs, std::vector<job_needs> const& needs,
                                            cluster const& machines) {
    std::vector<bounded_job> on_devices, on_cpu;
    double submitted = 0, first = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < needs.size(); ++i) {
        if (!needs[i].possible()) continue;
        double const at = to_seconds(jobs.jobs[i].submitted);
        (jobs.runs_on_cpu(jobs.jobs[i]) ? on_cpu : on_devices).push_back({at, needs[i]});
        submitted += at;
        first = std::min(first, at);
    }
    lower_bounds bounds{.mean_jct = 0, .makespan = 0, .jobs = on_devices.size() + on_cpu.size()};
    if (bounds.jobs == 0) return bounds;
    auto const devices = detail::earliest_completions(on_devices, static_cast<double>(devices_of(machines)));
    auto const cores = detail::earliest_completions(on_cpu, cores_of(machines));
    double const sum = std::max(devices.sum, detail::priced_sum(jobs, needs, machines, false, devices)) +
                       std::max(cores.sum, detail::priced_sum(jobs, needs, machines, true, cores));
    bounds.mean_jct = (sum - submitted) / static_cast<double>(bounds.jobs);
    bounds.makespan = std::max(devices.last, cores.last) - first;
    return bounds;
}

/// The needs of every job, in the workload's order. O(jobs x models).
[[nodiscard]] inline std::vector<job_needs> needs_of(workload const& jobs, cluster const& machines) {
    needs_reader reader(jobs, machines);
    std::vector<job_needs> all;
    all.reserve(jobs.jobs.size());
    for (auto const& job : jobs.jobs) all.push_back(reader.of(job));
    return all;
}

}  // namespace ration::sim
