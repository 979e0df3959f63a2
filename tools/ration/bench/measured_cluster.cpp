// SPDX-License-Identifier: BSL-1.0
#include "bench/measured_cluster.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

#include <ration/sim/cpu_sharing.hpp>

namespace ration::bench {
namespace {

[[nodiscard]] double loss_after(measured_job const& job, double done) {
    return 1 + 9 / (1 + 10 * std::max(done, 0.0) / job.length);
}

[[nodiscard]] testing::synthetic_shape shape_of(measured_shape const& from, std::size_t holdings) {
    testing::synthetic_shape made{.nodes = {}, .jobs = from.jobs, .holdings = holdings};
    for (auto const devices : from.devices)
        made.nodes.push_back({0, std::int64_t{512} << 30, devices, 0, 0, made.nodes.empty() ? max_amount : 0});
    made.nodes.front().front() = static_cast<std::int64_t>(from.cores * 1000);
    return made;
}

[[nodiscard]] limits limits_of(measured_shape const& shape) {
    std::int64_t const devices = std::accumulate(shape.devices.begin(), shape.devices.end(), std::int64_t{0});
    std::size_t const nodes = shape.devices.size();
    std::size_t const answer = 4 * static_cast<std::size_t>(devices) + 2 * nodes + 4 * shape.jobs + 64;
    return {.jobs = shape.jobs, .nodes = nodes, .answer = answer};
}

}  // namespace

measured_cluster::measured_cluster(measured_shape const& shape, column_memory* memory)
    : what_(shape.what), all_cores_(shape.cores), limits_(limits_of(shape)),
      cluster_(shape_of(shape, limits_.answer), memory), space_(limits_.answer) {
    cluster_.store().changes().follow();
    jobs_.reserve(shape.jobs);
    cores_.reserve(shape.jobs);
    check_.prepare(cluster_.store(), cluster_.columns(), standard_resources, limits_.nodes, limits_.answer);
}

void measured_cluster::arrive(measured_job const& job) {
    jobs_.push_back(job);
    cores_.push_back(0);
    cluster_.arrive(shown(job));
    show_progress(jobs_.size() - 1);
}

/// The job's constants. A policy that shares cores sees no devices.
testing::synthetic_job measured_cluster::shown(measured_job const& job) {
    constexpr auto gpu = static_cast<std::size_t>(resource_id::gpu);
    bool const on_cores = what_ == shared::cores;
    testing::synthetic_job made{.id = ++last_id_};
    made.tenant = job.tenant;
    made.tier = job.tier;
    made.weight = job.weight;
    made.length = job.length;
    made.submitted = cluster_.now();
    made.maximum.fill(unlimited);
    made.minimum[gpu] = on_cores ? 0 : 1;
    made.maximum[gpu] = on_cores ? 0 : job.most;
    made.request[gpu] = on_cores ? 0 : job.request;
    if (on_cores) {
        made.state = job_state::running;
        made.started = cluster_.now();
        return made;
    }
    for (std::size_t k = 1; k <= static_cast<std::size_t>(job.most); ++k) made.speed[k] = job.speed[k];
    made.fixed_speed = made.speed;
    return made;
}

void measured_cluster::show_progress(std::size_t row) {
    auto const& job = jobs_[row];
    auto shown = cluster_.jobs()[row];
    shown.done = job.done;
    shown.remaining = std::max(job.length - job.done, 0.0);
    shown.loss = shown.best_loss = loss_after(job, job.done);
    for (std::size_t i = 0; i < shown.losses.size(); ++i)
        shown.losses[i] =
            loss_after(job, job.done - 0.01 * job.length * static_cast<double>(shown.losses.size() - 1 - i));
    cluster_.set(row, shown);
}

void measured_cluster::leave(std::span<bool const> gone) {
    std::size_t kept = 0;
    for (std::size_t row = 0; row < jobs_.size(); ++row) {
        if (gone[row]) {
            cluster_.end(row, job_state::done);
            continue;
        }
        jobs_[kept] = jobs_[row];
        cores_[kept] = cores_[row];
        ++kept;
    }
    jobs_.resize(kept);
    cores_.resize(kept);
    cluster_.erase(gone.data());
    cluster_.show_held();
}

void measured_cluster::work(std::size_t row, double seconds) {
    double const speed = speed_of(row), units = units_of(row);
    if (!(units > 0)) return;
    jobs_[row].done = std::min(jobs_[row].done + speed * seconds, jobs_[row].length);
    auto shown = cluster_.jobs()[row];
    shown.measured_steps_per_second = speed;
    shown.attained += what_ == shared::devices ? units * seconds : 0;
    cluster_.set(row, shown);
    show_progress(row);
}

void measured_cluster::set_tier(std::size_t row, std::uint32_t tier) {
    auto shown = cluster_.jobs()[row];
    jobs_[row].tier = shown.tier = tier;
    cluster_.change(row, shown);
}

tick_outcome measured_cluster::take(status reply) {
    tick_outcome made{reply, answered_, 0};
    check_.check(cluster_.held(), std::span(space_).first(answered_), accepted_, rejected_);
    made.refused = rejected_.size();
    for (auto const& r : rejected_)
        if (first_wrong_.empty() && r.rule != check_rule::broken_group) first_wrong_ = sentence_on(r);
    for (auto const& g : accepted_.view()) cluster_.grant(g.what(), g.job_row());
    cluster_.show_granted();
    if (what_ == shared::cores)
        share_cores();
    else
        for (auto const& g : accepted_.view()) show_running(g.job_row());
    return made;
}

void measured_cluster::show_running(std::size_t row) {
    auto const& known = cluster_.jobs()[row];
    bool const runs = cluster_.held_by(row, resource_id::gpu) > 0;
    if (runs == (known.state == job_state::running)) return;
    auto shown = known;
    shown.state = runs ? job_state::running : job_state::queued;
    if (runs && shown.started.count < 0) shown.started = cluster_.now();
    cluster_.set(row, shown);
}

/// As the system does it within the limits that are held.
void measured_cluster::share_cores() {
    std::vector<sim::cpu_claim> claims(jobs_.size());
    ledger::walk walk(cluster_.held());
    for (std::size_t row = 0; row < jobs_.size(); ++row)
        claims[row] = {.row = static_cast<std::uint32_t>(row),
                       .node = 0,
                       .most = std::min(sim::limit_in_cores(walk.of({id(row)})), static_cast<double>(jobs_[row].most))};
    sim::share_fairly(claims, all_cores_);
    for (auto const& c : claims) {
        if (cores_[c.row] == c.given) continue;
        auto shown = cluster_.jobs()[c.row];
        shown.used[static_cast<std::size_t>(resource_id::cpu)] = c.given * 1000;
        cluster_.set(c.row, shown);
        cores_[c.row] = c.given;
    }
}

double measured_cluster::units_of(std::size_t row) const noexcept {
    return what_ == shared::cores ? cores_[row] : static_cast<double>(cluster_.held_by(row, resource_id::gpu));
}

double measured_cluster::speed_of(std::size_t row) const noexcept { return speed_at(jobs_[row], units_of(row)); }

std::string measured_cluster::sentence_on(rejection const& r) const {
    grant const& g = space_[r.row];
    auto const resource = g.resource < std::size(standard_resources) ? std::string(standard_resources[g.resource].name)
                                                                     : fmt::format("resource {}", g.resource);
    auto const whom = g.job < jobs_.size() ? fmt::format("job {}", id(g.job)) : fmt::format("row {}", g.job);
    return fmt::format("at tick {} it granted {} of {} on node {} to {}, but {}", number_ - 1, g.amount, resource,
                       g.node, whom, name_of(r.rule));
}

std::size_t measured_cluster::plain_loop() noexcept {
    auto const& store = cluster_.store();
    auto const& cpu = cluster_.columns().resources[static_cast<std::size_t>(resource_id::cpu)];
    auto const least = store[cpu.minimum], most = store[cpu.maximum];
    if (least.empty()) return 0;
    std::int64_t const share = cluster_.capacity(0, resource_id::cpu) / static_cast<std::int64_t>(least.size());
    for (std::size_t row = 0; row < least.size(); ++row)
        space_[row] = {static_cast<std::uint32_t>(row), 0, 0, 1, 0, std::clamp(share, least[row], most[row])};
    return least.size();
}

double speed_at(measured_job const& job, double units) noexcept {
    double const most = static_cast<double>(job.most);
    if (!(units > 0)) return 0;
    if (units >= most) return job.speed[static_cast<std::size_t>(job.most)];
    auto const whole = static_cast<std::size_t>(units);
    double const part = units - static_cast<double>(whole);
    return job.speed[whole] + part * (job.speed[whole + 1] - job.speed[whole]);
}

shared shared_by(any_policy const& policy) noexcept {
    for (auto const* column :
         {"nodes/capacity.gpu", "nodes/free.gpu", "jobs/request.gpu", "jobs/min.gpu", "jobs/max.gpu", "jobs/held.gpu"})
        if (policy.reads(column)) return shared::devices;
    return shared::cores;
}

bool knows_nodes(any_policy const& policy) noexcept {
    return policy.reads("held/node") || policy.reads("nodes/free.gpu");
}

}  // namespace ration::bench
