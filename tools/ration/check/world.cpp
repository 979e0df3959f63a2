// SPDX-License-Identifier: BSL-1.0
#include "world.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ration::conformance {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

std::int64_t synthetic_job::held_everywhere(std::size_t resource) const noexcept {
    std::int64_t sum = 0;
    for (auto const& node : held) {
        if (node[resource] == RATION_UNLIMITED) return RATION_UNLIMITED;
        sum += node[resource];
    }
    return sum;
}

world::world(std::uint64_t seed, std::size_t nodes) : rng_(seed), nodes_(nodes) {
    for (std::size_t i = 0; i < first_jobs; ++i) let_one_arrive();
    for (std::size_t i = 1; i < first_jobs; ++i) {
        jobs_[i].state = RATION_RUNNING;
        jobs_[i].started = 0;
    }
}

void world::step() {
    ++tick_;
    let_some_leave();
    if (jobs_.size() < most_jobs && rng_.once_in(3)) let_one_arrive();
    for (auto& job : jobs_) let_it_work(job);
}

void world::apply(std::span<ration_grant const> grants) {
    for (auto const& g : grants) {
        auto& job = jobs_[g.job];
        auto const place = static_cast<std::int64_t>(g.node) << 16 | g.resource;
        if (std::exchange(job.held[g.node][g.resource], g.amount) != g.amount)
            happened(RATION_EV_GRANT_APPLIED, g.job, job.id, place, g.amount);
    }
}

std::vector<ration_event> world::take_events() { return std::exchange(events_, {}); }

std::int64_t world::promised(std::size_t node, std::size_t resource) const noexcept {
    std::int64_t sum = 0;
    for (auto const& job : jobs_)
        if (auto const held = job.held[node][resource]; held != RATION_UNLIMITED) sum += held;
    return sum;
}

/// A job that is over is shown once more; now and then everybody is gone at once.
void world::let_some_leave() {
    if (rng_.once_in(97)) {
        for (auto& job : jobs_)
            if (!job.is_over()) end(job, RATION_FAILED);
    }
    for (std::size_t row = jobs_.size(); row-- > 0;)
        if (jobs_[row].is_over() && rng_.once_in(2)) jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(row));
}

void world::let_one_arrive() {
    synthetic_job job;
    job.id = last_id_ += 1 + rng_.below(3);
    job.tenant = static_cast<std::uint32_t>(rng_.below(3));
    job.weight = static_cast<double>(1 + rng_.below(4));
    job.submitted = now();
    job.restart_cost = static_cast<double>(rng_.below(10));
    job.length = rng_.once_in(8) ? unknown : static_cast<double>(500 + rng_.below(10'000));
    for (std::size_t r = 0; r < resource_count; ++r) {
        std::int64_t const fair = node_capacity[r] / static_cast<std::int64_t>(most_jobs);
        job.minimum[r] = rng_.once_in(2) ? 0 : std::max<std::int64_t>(fair / 4, 2);  // two devices may be on two nodes
        job.maximum[r] = rng_.once_in(2)
                             ? RATION_UNLIMITED
                             : std::max(job.minimum[r], fair * static_cast<std::int64_t>(1 + rng_.below(4)));
        std::int64_t const least = std::max<std::int64_t>(job.minimum[r], 1),
                           most = std::min<std::int64_t>(job.maximum[r], 8 * fair);
        job.request[r] = least + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(most - least + 1)));
    }
    happened(RATION_EV_JOB_ARRIVED, RATION_NO_SLOT, job.id);
    jobs_.push_back(job);
}

void world::let_it_work(synthetic_job& job) {
    if (job.state == RATION_QUEUED && rng_.once_in(3)) {
        job.state = RATION_RUNNING;
        job.started = now();
    }
    if (job.state != RATION_RUNNING) return;
    std::uint64_t const steps = 1 + rng_.below(100);
    job.step += steps;
    job.measured_steps_per_second = static_cast<double>(steps);
    job.attained += static_cast<double>(job.held_everywhere(RATION_GPU));
    job.restarts += rng_.once_in(20);
    // Falls by 1 % as a rule, at most by 3; now and then it rises
    job.loss *= 1.01 - 0.0004 * static_cast<double>(rng_.below(101));
    job.best_loss = std::min(job.best_loss, job.loss);
    predict(job);
    if (job.tier < 2 && rng_.once_in(15)) {
        ++job.tier;
        happened(RATION_EV_JOB_CHANGED, static_cast<std::uint32_t>(&job - jobs_.data()), job.id);
    }
    for (std::size_t r = 0; r < resource_count; ++r)
        job.used[r] = static_cast<double>(rng_.below(static_cast<std::uint64_t>(node_capacity[r]) / 2));
    if (rng_.once_in(40)) end(job, rng_.once_in(3) ? RATION_FAILED : RATION_DONE);
}

/// The next tier is reached before the end, and no job is longer than it turns out to be.
void world::predict(synthetic_job& job) {
    auto const done = static_cast<double>(job.step);
    if (job.length < done) job.length = done;
    std::uint64_t const most = job.length >= done ? static_cast<std::uint64_t>(job.length - done) : 10'000;
    job.remaining = rng_.once_in(8) ? unknown : static_cast<double>(rng_.below(most + 1));
}

void world::end(synthetic_job& job, std::uint32_t state) {
    job.state = state;
    job.measured_steps_per_second = 0;
    job.held = {};
    happened(state == RATION_DONE ? RATION_EV_JOB_FINISHED : RATION_EV_JOB_FAILED,
             static_cast<std::uint32_t>(&job - jobs_.data()), job.id);
}

void world::happened(std::uint32_t kind, std::uint32_t row, std::uint64_t id, std::int64_t a, std::int64_t b) {
    events_.push_back({kind, row, id, now(), a, b});
}

}  // namespace ration::conformance
