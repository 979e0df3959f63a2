// SPDX-License-Identifier: BSL-1.0
#include "run/job_table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] job_state state_of(condition c) noexcept {
    switch (c) {
        case condition::waiting: return job_state::queued;
        case condition::restarting: return job_state::restarting;
        case condition::running:
        case condition::stalled:
        case condition::silent: return job_state::running;
        case condition::finished:
        case condition::stopped: return job_state::done;
        case condition::failed:
        case condition::diverged: return job_state::failed;
    }
    return job_state::failed;
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Room for everybody's largest batch: it is scarce within a job only. 0: nobody says what its batches are, and all
/// choose themselves.
[[nodiscard]] std::int64_t batch_capacity(std::span<job_config const> jobs) noexcept {
    std::int64_t sum = 0;
    bool any = false;
    for (auto const& job : jobs) {
        if (!job.elastic) continue;
        any = any || !job.elastic->batches.empty();
        sum +=
            job.elastic->batches.empty() ? job.elastic->batch.minimum : *std::ranges::max_element(job.elastic->batches);
    }
    return any ? sum : 0;
}

/// The entry of a list by number of devices; beyond its end the last one.
template <class T>
[[nodiscard]] T entry_of(std::vector<T> const& list, std::size_t devices) noexcept {
    return list[std::min(devices, list.size() - 1)];
}

}  // namespace

job_table::job_table(std::span<job_config const> jobs, host_supply const& supply) {
    auto declared = standard_columns::declare(store_, host_resources(supply.devices.has_value()));
    RATION_ASSERT(declared, "an empty store takes the standard columns");
    columns_ = *declared;
    if (supply.devices) declare_devices(jobs, *supply.devices);
    RATION_ASSERT(store_.resize(table_id::nodes, 1), "memory for the nodes table");
    store_[of(resource_id::cpu).capacity][0] = supply.cpu.count;
    store_[of(resource_id::memory).capacity][0] = supply.memory.count;
    if (supply.devices) {
        set_devices(*supply.devices);
        store_[of(resource_id::batch).capacity][0] = batch_capacity(jobs);
    }
    device_seconds_.resize(jobs.size());
    by_id_.resize(jobs.size());
    std::iota(by_id_.begin(), by_id_.end(), std::size_t{0});
    std::ranges::sort(by_id_, {}, [&](std::size_t i) { return std::pair(jobs[i].at.count, i); });
    std::vector<std::size_t> rows(jobs.size());
    for (std::size_t row = 0; row < by_id_.size(); ++row) rows[by_id_[row]] = row;
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs_.emplace_back(jobs[i], rows[i]);
    RATION_ASSERT(store_.resize(table_id::jobs, jobs.size()) && store_.resize(table_id::jobs, 0),
                  "memory for the jobs table");
    for (auto const& job : jobs) tenants_.try_emplace(job.tenant, static_cast<std::uint32_t>(tenants_.size()));
}

void job_table::declare_devices(std::span<job_config const> jobs, std::int64_t count) {
    device_columns c;
    std::int64_t most = 1;
    for (auto const& job : jobs)
        if (job.elastic) most = std::max(most, std::min(job.elastic->devices.maximum, count));
    c.width = static_cast<std::size_t>(most) + 1;
    auto const requested = store_.declare<std::int64_t>("jobs/requested.gpu"),
               request = store_.declare<std::int64_t>("jobs/request.gpu");
    RATION_ASSERT(requested && request && columns_.add(store_, "jobs/attained") &&
                      columns_.add(store_, "jobs/speedup", c.width) && columns_.add(store_, "jobs/batch", c.width) &&
                      columns_.add(store_, "nodes/type"),
                  "the store has none of these names");
    c.requested = *requested;
    c.request = *request;
    devices_ = c;
}

std::size_t job_table::running_with(live_job const& launched) const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(jobs_, [&](live_job const& job) {
        // A job without devices is launched as soon as it has arrived
        bool const waits_for_devices = job.devices != nullptr && job.waiting();
        return job.id == launched.id || (arrived(job) && !job.over() && !waits_for_devices);
    }));
}

bool job_table::arrive(nanoseconds now) noexcept {
    std::size_t const before = store_.rows(table_id::jobs);
    std::size_t rows = before;
    while (rows < by_id_.size() && jobs_[by_id_[rows]].config->at <= now) ++rows;
    if (rows == before) return false;
    RATION_ASSERT(store_.resize(table_id::jobs, rows), "the memory was there before");
    for (std::size_t row = before; row < rows; ++row) describe(jobs_[by_id_[row]]);
    return true;
}

void job_table::describe(live_job const& job) noexcept {
    job_config const& config = *job.config;
    std::size_t const row = job.row;
    store_[columns_.id][row] = job.id.value;
    store_[columns_.get<"jobs/tenant">()][row] = tenants_.at(config.tenant);
    store_[columns_.get<"jobs/weight">()][row] = config.weight;
    store_[columns_.get<"jobs/priority">()][row] = config.priority;
    store_[columns_.get<"jobs/submitted">()][row] = config.at.count;
    store_[columns_.tiers][row] = two_tier_target::objective_tier;
    store_[columns_.remaining][row] = unknown;
    store_[of(resource_id::cpu).minimum][row] = config.cpu.minimum;
    store_[of(resource_id::cpu).maximum][row] = config.cpu.maximum;
    store_[of(resource_id::memory).maximum][row] = config.memory ? config.memory->count : unlimited;
    if (!devices_) return;
    for (auto const r : {resource_id::gpu, resource_id::gpu_sm, resource_id::cache, resource_id::batch})
        store_[of(r).maximum][row] = 0;
    store_[devices_->requested][row] = -1;
    if (config.elastic) describe_devices(job, *config.elastic);
}

void job_table::describe_devices(live_job const& job, elastic_config const& wants) noexcept {
    std::size_t const row = job.row;
    std::int64_t const all = std::min(wants.devices.maximum, store_[of(resource_id::gpu).capacity][0]);
    std::int64_t const most = job.devices != nullptr ? std::min(all, job.devices->large_enough()) : all;
    store_[of_devices().request][row] = most;
    store_[of(resource_id::batch).minimum][row] = wants.batch.minimum;
    store_[of(resource_id::batch).maximum][row] = wants.batch.maximum;
    for (std::size_t k = 0; k < of_devices().width; ++k) {
        (&store_.at(columns_.get<"jobs/speedup">(), row))[k] =
            wants.speedup.empty() ? static_cast<double>(k) : entry_of(wants.speedup, k);
        // Not measured: the smallest that it accepts, which is right for a job that has one batch and harmless for the
        // others.
        std::int64_t const batch = wants.batches.empty() ? wants.batch.minimum : entry_of(wants.batches, k);
        (&store_.at(columns_.get<"jobs/batch">(), row))[k] = k == 0 ? 0 : batch;
    }
}

void job_table::refresh(nanoseconds now, std::span<training_progress const> progress) noexcept {
    for (auto const& job : jobs_) {
        if (!arrived(job)) continue;
        auto const& tracker = progress[job.row].tracker;
        store_[columns_.state][job.row] = static_cast<std::uint32_t>(state_of(job.now));
        store_[columns_.started][job.row] = job.launched_at ? job.launched_at->count : -1;
        store_[columns_.step][job.row] = progress[job.row].step;
        store_[columns_.tier][job.row] =
            job.trains_on ? std::min(tracker.tier(), two_tier_target::acceptable_tier) : tracker.tier();
        // Else the last one of its earlier launch
        if (auto const loss = tracker.smoothed()) store_[columns_.loss][job.row] = *loss;
        store_[columns_.get<"jobs/loss.best">()][job.row] = tracker.best().value_or(0);
        if (!job.alive()) store_[of(resource_id::cpu).used][job.row] = 0;
        if (job.devices != nullptr) refresh_devices(job, now);
    }
    shown_at_ = now;
}

/// A job whose size cannot change now accepts nothing else, so that a policy shares out the rest.
void job_table::refresh_devices(live_job const& job, nanoseconds now) noexcept {
    auto const& wants = job.elastic();
    std::int64_t const most =
        std::min({wants.devices.maximum, static_cast<std::int64_t>(of_devices().width) - 1, job.devices->most()});
    bool const free = job.devices->can_change(now) && most >= wants.devices.minimum;
    std::int64_t const here = job.devices->wanted();
    store_[of(resource_id::gpu).minimum][job.row] = free ? wants.devices.minimum : here;
    store_[of(resource_id::gpu).maximum][job.row] = free ? most : here;
    store_[columns_.restart_cost][job.row] = job.devices->restart_cost();
    if (job.alive()) device_seconds_[job.row] += static_cast<double>(job.devices->size()) * to_seconds(now - shown_at_);
    store_[columns_.get<"jobs/attained">()][job.row] = device_seconds_[job.row];
    store_[of(resource_id::gpu).used][job.row] = job.alive() ? static_cast<double>(job.devices->size()) : 0;
}

double job_table::used_cores(live_job const& job) const noexcept {
    return arrived(job) ? store_[of(resource_id::cpu).used][job.row] / 1000 : 0;
}

std::int64_t job_table::held_cpu(live_job const& job) const noexcept {
    return arrived(job) ? store_[of(resource_id::cpu).held][job.row] : 0;
}

}  // namespace ration::program
