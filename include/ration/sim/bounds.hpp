// SPDX-License-Identifier: BSL-1.0
/// What no policy can do better, not even one that knows the future.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include <ration/sim/needs.hpp>

namespace ration::sim {

/// Lower bounds in seconds; over the jobs that can run on the cluster at all. Any schedule keeps them up to the
/// rounding of the simulation's clock, as long as the workload's models show the best that a job can do: no batch and
/// no placement makes it faster.
struct lower_bounds {
    double mean_jct = 0;
    double makespan = 0;   ///< from the first submission to the last end
    std::size_t jobs = 0;  ///< that can run
};

/// A job as the bounds see it: seconds, and device-seconds or core-seconds of work.
struct bounded_job {
    double submitted = 0;
    job_needs needs;
};

namespace detail {

enum class served_first : unsigned char { least_left, least_work };

/// One machine with the speed of all devices together, which serves one job at a time and leaves it for a better one:
/// the one with the least work left, or the least work in all. Calls `piece(job, from, to, done)` for each stretch;
/// `done` when it is the job's last. Precondition: in order of submission. O(n log n).
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

/// A job that runs takes devices, and makes one device-second of work at most from each device-second that it holds,
/// with work counted as in `job_needs`. So any schedule is also one of a single machine of speed C that may divide
/// itself among jobs. On it the shortest remaining work first has the most jobs done at any time (L. Schrage, "A proof
/// of the optimality of the shortest remaining processing time discipline", 1968). Dividing the machine does not help:
/// for every n, what is left in all jobs but the n that have most left is never more than with any other schedule,
/// divided or not, since nothing lowers it faster, and a job that comes adds the same to both. Hence the sum of
/// completions of any schedule is at least its sum.
[[nodiscard]] inline double least_left_sum(std::vector<bounded_job> const& jobs, double speed) {
    double sum = 0;
    serve_on_one_machine(jobs, speed, served_first::least_left, [&](std::size_t, double, double to, bool done) {
        if (done) sum += to;
    });
    return sum;
}

/// Let M be the mean, over a job's work, of the time at which it is done. From each point of its work a job takes some
/// seconds at least to its end; their mean over the work is `job_needs::after`; so it ends at M + after at the
/// earliest. Work done at time t costs t / (the job's work) in the sum of all M, so that the sum is least when the
/// single machine serves the job with the least work in all (exchange two pieces of work and see). This is the
/// mean-busy-time relaxation of M. X. Goemans et al., "Single machine scheduling with release dates", 2002; on machines
/// without releases it is the bound of Eastman, Even and Isaacs, 1964.
[[nodiscard]] inline double mean_busy_sum(std::vector<bounded_job> const& jobs, double speed) {
    double sum = 0;
    for (auto const& job : jobs) sum += job.needs.after;
    serve_on_one_machine(jobs, speed, served_first::least_work, [&](std::size_t job, double from, double to, bool) {
        if (from < to) sum += (to - from) * speed / jobs[job].needs.work * (from + to) / 2;
    });
    return sum;
}

/// Jobs that share one machine: their sum of completions, and the last of them.
struct completions {
    double sum = 0, last = 0;
};

/// Precondition: `jobs` in order of submission, all of them possible. The best of three bounds on the sum of
/// completions: each job alone, and the two above. On the last one: each job alone, and the work that comes from some
/// time on. O(n log n).
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

}  // namespace detail

/// `needs` has one entry for each job. O(n log n).
///
/// Jobs on processors are bounded like those on devices, with core-seconds for device-seconds. The cores of all nodes
/// together are a machine that divides itself: the shares of all jobs are never more than there are; from c cores a job
/// makes c core-seconds of work a second up to those that it can use, and none beyond; and alone it needs its work /
/// (cores that it can use, of those there are). Both proofs above ask for no more. What lies behind the last tier of
/// its loss is not counted, since a policy may release it there. No job runs on both, so that any schedule of all jobs
/// is one of each kind: the sums of completions add up, and the last end is the later one.
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
    bounds.mean_jct = (devices.sum + cores.sum - submitted) / static_cast<double>(bounds.jobs);
    bounds.makespan = std::max(devices.last, cores.last) - first;
    return bounds;
}

/// What every job needs, in the workload's order.
[[nodiscard]] inline std::vector<job_needs> needs_of(workload const& jobs, cluster const& machines) {
    needs_reader reader(jobs, machines);
    std::vector<job_needs> all;
    all.reserve(jobs.jobs.size());
    for (auto const& job : jobs.jobs) all.push_back(reader.of(job));
    return all;
}

}  // namespace ration::sim
