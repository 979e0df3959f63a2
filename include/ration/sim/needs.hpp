// SPDX-License-Identifier: BSL-1.0
/// The needs of a job that hold for every policy: its best speed, and its least work.
///
/// Used by bounds.hpp and, for fairness, by summary.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ration/sim/speed_curve.hpp>
#include <ration/sim/workload.hpp>

namespace ration::sim {

/// The least that one job needs on a cluster, as far as its model shows its speed.
struct job_needs {
    /// Seconds from its start to its end when it is alone on the cluster, including the restart
    /// cost of its start
    double seconds = 0;
    double work = 0;   ///< device-seconds until its end; core-seconds of a job on processors
    double after = 0;  ///< mean over this work of the least seconds from there to its end
    /// False if the job cannot run on the cluster.
    [[nodiscard]] bool possible() const noexcept { return seconds < std::numeric_limits<double>::infinity(); }
};

/// All devices of a cluster without faults.
[[nodiscard]] inline std::int64_t devices_of(cluster const& machines) noexcept {
    std::int64_t sum = 0;
    for (auto const& group : machines.groups) sum += static_cast<std::int64_t>(group.nodes) * group.devices;
    return sum;
}

/// All nodes of a cluster.
[[nodiscard]] inline std::size_t nodes_of(cluster const& machines) noexcept {
    std::size_t sum = 0;
    for (auto const& group : machines.groups) sum += group.nodes;
    return sum;
}
/// All cores of a cluster.
[[nodiscard]] inline double cores_of(cluster const& machines) noexcept {
    double sum = 0;
    for (auto const& group : machines.groups) sum += static_cast<double>(group.nodes) * group.cores;
    return sum;
}
/// The cores of the largest node; a job on processors runs on one node.
[[nodiscard]] inline double most_cores_of(cluster const& machines) noexcept {
    double most = 0;
    for (auto const& group : machines.groups) most = std::max(most, group.cores);
    return most;
}

/// The end of a job. A policy may release a job on processors once it has reached the last tier of
/// its loss.
enum class job_end : std::uint8_t { length, last_tier };

/// Follows a job's model from its first step to its last. Keeps its memory from one job to the
/// next.
class needs_reader {
    struct part {
        double work = 0, seconds = 0;
    };

    workload const& workload_;
    cluster const& cluster_;
    std::int64_t devices_;
    double most_cores_;
    std::vector<double> best_, shown_, fixed_;
    std::vector<std::int64_t> batch_;
    std::vector<part> parts_;

public:
    /// All arguments have to outlive the object.
    needs_reader(workload const& jobs, cluster const& machines) noexcept
        : workload_(jobs), cluster_(machines), devices_(devices_of(machines)), most_cores_(most_cores_of(machines)) {}
    needs_reader(workload const&, cluster&&) = delete;

    /// The needs of a job; of one on processors up to its last tier. O(segments of constant speed x
    /// types of nodes x devices).
    [[nodiscard]] job_needs of(job_description const& job) {
        parts_.clear();
        workload_.runs_on_cpu(job) ? add_parts_on_cpu(job) : add_parts_on_devices(job);
        job_needs needs;
        for (std::size_t i = parts_.size(); i-- > 0;) {
            needs.after += parts_[i].work * (needs.seconds + parts_[i].seconds / 2);
            needs.seconds += parts_[i].seconds;
            needs.work += parts_[i].work;
        }
        if (needs.possible() && needs.work > 0) needs.after /= needs.work;
        return needs;
    }

    /// The seconds that the job takes alone with `share` devices on average. It runs at the best of
    /// goodput(k) for k up to `share`, and of goodput(k) * share / k for more, which is k devices
    /// for a part of the time. For a job on processors `share` is cores, and it may end at its last
    /// tier. Infinite if it cannot run on the cluster.
    [[nodiscard]] double seconds_with(job_description const& job, double share, job_end at = job_end::length) {
        if (workload_.runs_on_cpu(job)) {
            double all = 0;
            each_segment_on_cpu(job, at, [&](double steps, double speed, double cores) {
                all += steps / speed * std::max(1.0, cores / share);
            });
            return all;
        }
        double seconds = job.restart_cost;
        each_segment(job, [&](double steps) {
            double fastest = 0;
            for (std::size_t k = 1; k < best_.size(); ++k)
                fastest = std::max(fastest, best_[k] * std::min(1.0, share / static_cast<double>(k)));
            seconds += steps / fastest;
        });
        return seconds;
    }

    /// Calls `visit(steps, speed_curve)` for each segment of constant speeds of a job that can run. The restart at its
    /// start is not a segment.
    template <class Visit>
    void each_curve(job_description const& job, Visit visit) {
        if (!workload_.runs_on_cpu(job))
            return each_segment(job, [&](double steps) { visit(steps, speed_curve(best_)); });
        each_segment_on_cpu(job, job_end::last_tier, [&](double steps, double speed, double cores) {
            speed_curve curve;
            curve.add({cores, speed});
            visit(steps, curve);
        });
    }

private:
    /// Lists the segments of a job on devices. The first is the restart at its start.
    void add_parts_on_devices(job_description const& job) {
        if (job.restart_cost > 0)
            parts_.push_back({job.restart_cost * static_cast<double>(job.least), job.restart_cost});
        each_segment(job, [&](double steps) {
            double fastest = 0, thriftiest = 0;
            for (std::size_t k = 1; k < best_.size(); ++k) {
                fastest = std::max(fastest, best_[k]);
                thriftiest = std::max(thriftiest, best_[k] / static_cast<double>(k));
            }
            parts_.push_back({steps / thriftiest, steps / fastest});
        });
    }

    /// Lists the segments of a job on processors. Speed is proportional to cores, so its work does
    /// not depend on their number.
    void add_parts_on_cpu(job_description const& job) {
        each_segment_on_cpu(job, job_end::last_tier, [&](double steps, double speed, double cores) {
            parts_.push_back({steps / speed * cores, steps / speed});
        });
    }

    /// Calls `visit(steps, steps per second, cores)` for each segment of a job on processors with the most cores that
    /// it can use then on this cluster.
    template <class Visit>
    void each_segment_on_cpu(job_description const& job, job_end at, Visit visit) const {
        auto const& model = *workload_.models[job.model];
        std::uint32_t const last = model.tiers(job);
        for (double step = 0; step < job.length;) {
            if (at == job_end::last_tier && last > 0 && model.tier_at(job, step) == last) return;
            double const cores = std::min(model.demand(job, step).cores, most_cores_);
            speed_segment const p = model.at(job, {.cores = cores}, step);
            double const until = std::min(job.length, p.until), end = until > step ? until : job.length;
            visit(end - step, p.steps_per_second, cores);
            step = end;
        }
    }

    /// Calls `visit(steps)` for each segment in which `best_` holds: steps per second by devices,
    /// the best of all types of nodes.
    template <class Visit>
    void each_segment(job_description const& job, Visit visit) {
        auto const& model = *workload_.models[job.model];
        std::int64_t const most = std::min(job.most, devices_);
        auto const asked = static_cast<std::int32_t>(
            std::clamp<std::int64_t>(job.request, 1, std::numeric_limits<std::int32_t>::max()));
        for (double step = 0; step < job.length;) {
            best_.assign(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)) + 1, 0.0);
            for (auto const& group : cluster_.groups) add_best(job, step, group);
            double const until =
                std::min(job.length, model.at(job, {.spread = {&asked, 1}, .devices = asked}, step).until);
            // A model without a further change is not asked again before the end
            double const end = until > step ? until : job.length;
            visit(end - step);
            step = end;
        }
    }

    /// Improves `best_` by the speeds on this group of nodes.
    void add_best(job_description const& job, double step, node_group const& group) {
        std::size_t const counts = best_.size();
        shown_.assign(counts, 0.0);
        fixed_.assign(counts, 0.0);
        batch_.assign(counts, 0);
        workload_.models[job.model]->show(job, step, group.type, group.devices, {shown_, fixed_, batch_});
        for (auto k = static_cast<std::size_t>(std::max<std::int64_t>(job.least, 1)); k < counts; ++k)
            best_[k] = std::max({best_[k], shown_[k], fixed_[k]});
    }
};

}  // namespace ration::sim
