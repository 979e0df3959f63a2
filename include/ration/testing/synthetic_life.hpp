// SPDX-License-Identifier: BSL-1.0
/// Random jobs in a synthetic cluster: they arrive, run, use resources, reach tiers, fail and end, the same on every
/// run of one seed, no matter what a policy grants. Values that a host may lack are NaN now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include <ration/host/rng_sequence.hpp>
#include <ration/testing/synthetic_cluster.hpp>

namespace ration::testing {

/// The capacity of the nodes for the jobs. `usual`: the capacity stays, and some jobs have a minimum of CPU.
/// `changing`: bounds, requests and capacities change under the jobs, and nodes are lost and come back. In the others
/// no job has a minimum of CPU. `scarce`: of each 40 seconds the nodes have less than a millicore, and less than a
/// device, for each job in 30.
enum class supply : std::uint8_t { usual, ample, scarce, changing };

struct life_options {
    std::uint64_t seed = 1;
    std::size_t first_jobs = 0;  ///< there from the start, all but the first one running
    supply nodes_have = supply::usual;
    std::int64_t least_minimum = 0;  ///< of a resource of which a job has a minimum; 2 makes jobs of several devices
};

class synthetic_life {
    synthetic_cluster& cluster_;
    rng_sequence rng_;
    supply supply_;
    std::int64_t least_minimum_;
    per_resource<std::int64_t> capacity_;  // of the first node, before it is scarce
    std::size_t most_jobs_;
    std::uint64_t ticks_ = 0, last_id_ = 0;
    std::unique_ptr<bool[]> gone_;

public:
    /// `cluster` has to outlive this, and has no jobs yet; `most_jobs` as in its shape.
    synthetic_life(synthetic_cluster& cluster, std::size_t most_jobs, life_options const& options = {})
        : cluster_(cluster), rng_(options.seed), supply_(options.nodes_have), least_minimum_(options.least_minimum),
          most_jobs_(most_jobs), gone_(std::make_unique<bool[]>(most_jobs)) {
        for (std::size_t r = 0; r < capacity_.size(); ++r)
            capacity_[r] = cluster.capacity(0, static_cast<resource_id>(r));
        for (std::size_t i = 0; i < options.first_jobs; ++i) arrive();
        for (std::size_t row = 1; row < options.first_jobs; ++row) start(row);
    }

    /// Lets one second pass.
    void step() {
        cluster_.pass(seconds(1));
        if (supply_ == supply::scarce) change_capacities();
        if (supply_ == supply::changing) change_demands();
        age_nodes();
        ++ticks_;
        leave();
        if (cluster_.jobs().size() < most_jobs_ && rng_.once_in(3)) arrive();
        for (std::size_t row = 0; row < cluster_.jobs().size(); ++row) work(row);
        cluster_.show_held();
    }

private:
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    void change_capacities() noexcept {
        for (auto const r : {resource_id::cpu, resource_id::gpu}) {
            std::int64_t const usual = capacity_[static_cast<std::size_t>(r)];
            std::int64_t const little = std::min<std::int64_t>(static_cast<std::int64_t>(most_jobs_ / 2), usual);
            for (std::size_t node = 0; node < cluster_.nodes(); ++node)
                cluster_.set_capacity(node, r, ticks_ % 40 < 10 ? usual : little);
        }
    }

    /// Now and then a node is lost or comes back, with a third, two thirds or all of its capacity, and a job has other
    /// bounds, whatever it holds. A request can be beyond these. The first node loses its devices only, and keeps a
    /// third of all else: there the jobs' minima fit.
    void change_demands() {
        for (std::size_t node = 0; node < cluster_.nodes(); ++node) {
            if (!rng_.once_in(10)) continue;
            auto const thirds = static_cast<std::int64_t>(rng_.below(4));
            for (std::size_t r = 0; r < std::size(standard_resources); ++r)
                if (auto const id = static_cast<resource_id>(r);
                    standard_resources[r].granularity != divisibility::setting)
                    cluster_.set_capacity(
                        node, id,
                        capacity_[r] *
                            (node == 0 && id != resource_id::gpu ? std::max<std::int64_t>(thirds, 1) : thirds) / 3);
        }
        for (std::size_t row = 0; row < cluster_.jobs().size(); ++row) {
            if (!rng_.once_in(10)) continue;
            auto job = cluster_.jobs()[row];
            for (std::size_t r = 0; r < std::size(standard_resources); ++r) demand(job, r);
            bool const asks_beyond = rng_.once_in(3);
            for (auto& request : job.request) request = asks_beyond ? 2 * request : request;
            accept_intervals(job);
            cluster_.set(row, job);
        }
    }

    /// Each node has another hazard from minute to minute, and none for one in four of them.
    void age_nodes() noexcept {
        auto& store = cluster_.store();
        for (std::size_t node = 0; node < cluster_.nodes(); ++node) {
            store.at(cluster_.columns().get<"nodes/hazard">(), node) =
                1e-4 * static_cast<double>((ticks_ / 60 + node) % 4);
            store.changes().mark(table_id::nodes, node, description_columns);
        }
    }

    /// A job that is over stays for a tick at least; now and then all end at once.
    void leave() {
        std::size_t const rows = cluster_.jobs().size();
        if (rng_.once_in(97))
            for (std::size_t row = 0; row < rows; ++row)
                if (!cluster_.jobs()[row].is_over()) cluster_.end(row, job_state::failed);
        for (std::size_t row = rows; row-- > 0;) gone_[row] = cluster_.jobs()[row].is_over() && rng_.once_in(2);
        cluster_.erase(gone_.get());
    }

    void arrive() {
        synthetic_job job;
        job.id = last_id_ += 1 + rng_.below(3);
        job.tenant = static_cast<std::uint32_t>(rng_.below(synthetic_tenants));
        job.weight = static_cast<double>(1 + rng_.below(4));
        job.priority = static_cast<std::int64_t>(job.id % 5) - 2;  // without a draw, which would change all later ones
        job.submitted = cluster_.now();
        if (job.id % 4 != 0) job.deadline = job.submitted + seconds(static_cast<double>(20 + 389 * job.id % 1000));
        job.restart_cost = static_cast<double>(rng_.below(10));
        job.length = rng_.once_in(8) ? unknown : static_cast<double>(500 + rng_.below(10'000));
        job.losses.fill(job.loss);
        job.target_loss = job.id % 8 == 0 ? unknown : 0.6 * job.loss;
        for (std::size_t k = 1; k <= most_devices; ++k) {
            // Each further device helps less; with the requested batch, even less.
            job.speed[k] = speed_on(k, 0.02 * job.weight);
            job.fixed_speed[k] = speed_on(k, 0.05 * job.weight);
        }
        for (std::size_t r = 0; r < std::size(standard_resources); ++r) demand(job, r);
        accept_intervals(job);
        cluster_.arrive(job);
    }

    /// Steps per second on `k` devices, each of which costs a part of the others' speed.
    [[nodiscard]] static double speed_on(std::size_t k, double loss) noexcept {
        auto const devices = static_cast<double>(k);
        return 20 * devices / (1 + loss * (devices - 1));
    }

    /// Bounds, and a request within them.
    void demand(synthetic_job& job, std::size_t r) noexcept {
        std::int64_t const fair = capacity_[r] / static_cast<std::int64_t>(most_jobs_);
        auto& minimum = job.minimum[r];
        auto& maximum = job.maximum[r];
        minimum = rng_.once_in(2) ? 0 : std::max<std::int64_t>(fair / 4, least_minimum_);
        maximum = rng_.once_in(2) ? unlimited : std::max(minimum, fair * static_cast<std::int64_t>(1 + rng_.below(4)));
        std::int64_t const least = std::max<std::int64_t>(minimum, 1),
                           most = std::max(least, std::min(maximum, 8 * fair));
        job.request[r] = least + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most - least + 1)));
        bool const is_cpu = static_cast<resource_id>(r) == resource_id::cpu;
        if (is_cpu && (supply_ == supply::ample || supply_ == supply::scarce)) minimum = 0;
    }

    /// Saves take longer for some jobs than for others, and some accept only short intervals, without a draw.
    static void accept_intervals(synthetic_job& job) noexcept {
        job.save_cost = static_cast<double>(job.id % 5);
        job.maximum.back() = job.id % 3 == 0 ? 60'000 : unlimited;
    }

    void start(std::size_t row) noexcept {
        auto job = cluster_.jobs()[row];
        job.state = job_state::running;
        job.started = cluster_.now();
        cluster_.set(row, job);
    }

    void work(std::size_t row) {
        if (cluster_.jobs()[row].state == job_state::queued && rng_.once_in(3)) start(row);
        if (cluster_.jobs()[row].state != job_state::running) return;
        auto job = cluster_.jobs()[row];
        double const steps = static_cast<double>(1 + rng_.below(100));
        job.done += steps;
        job.measured_steps_per_second = steps;
        job.attained += static_cast<double>(cluster_.held_by(row, resource_id::gpu));
        job.restarts += rng_.once_in(20);
        learn(job);
        predict(job);
        if (job.tier < two_tier_target::objective_tier && rng_.once_in(15)) {
            ++job.tier;
            job.target_loss = job.tier < two_tier_target::objective_tier ? 0.8 * job.best_loss : unknown;
            cluster_.change(row, job);
        }
        ask(job);
        measure_level(job);
        for (std::size_t r = 0; r < std::size(standard_resources); ++r)
            job.used[r] = static_cast<double>(rng_.below(static_cast<std::uint64_t>(capacity_[r]) / 2));
        cluster_.set(row, job);
        if (rng_.once_in(40)) cluster_.end(row, rng_.once_in(3) ? job_state::failed : job_state::done);
    }

    /// One job in three asks for another size every few ticks, also for sizes beyond its bounds, without a draw.
    void ask(synthetic_job& job) noexcept {
        if (job.id % 3 != 0 || ticks_ % 7 != job.id % 7) return;
        for (std::size_t r = 0; r < capacity_.size(); ++r)
            job.requested[r] = static_cast<std::int64_t>(ticks_ * job.id % 5) * job.request[r] / 2;
    }

    /// One job in four has a level, which it holds half of the time, without a draw. Now and then it has no value.
    void measure_level(synthetic_job& job) const noexcept {
        if (job.id % 4 != 1) return;
        std::uint64_t const at = ticks_ / 5 + job.id;
        job.slo_met = static_cast<double>(at % 11) / 10;
        job.slo_slack = at % 13 == 0 ? unknown : static_cast<double>(at * 7 % 21) / 20 - 0.475;
    }

    /// The loss falls by 1 % on average, at most by 3; now and then it rises.
    void learn(synthetic_job& job) noexcept {
        job.loss *= 1.01 - 0.0004 * static_cast<double>(rng_.below(101));
        job.best_loss = std::min(job.best_loss, job.loss);
        std::copy(job.losses.begin() + 1, job.losses.end(), job.losses.begin());
        job.losses.back() = job.loss;
    }

    /// The next tier is reached before the end, and no job makes more steps than its length.
    void predict(synthetic_job& job) noexcept {
        if (job.length < job.done) job.length = job.done;
        std::uint64_t const most = job.length >= job.done ? static_cast<std::uint64_t>(job.length - job.done) : 10'000;
        job.remaining = rng_.once_in(8) ? unknown : static_cast<double>(rng_.below(most + 1));
    }
};

}  // namespace ration::testing
