// SPDX-License-Identifier: BSL-1.0
#include "run/job_table.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <ration/host/tenants.hpp>

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

/// Jobs that name no tenant share one. Without tenants there are no rows.
[[nodiscard]] tenant_rows tenants_of(std::span<job_config const> jobs, tenant_tree const& tree) {
    if (tree.tenants.empty() && std::ranges::all_of(jobs, &std::string::empty, &job_config::tenant)) return {};
    std::vector<std::string> names;
    for (auto const& job : jobs) names.push_back(job.tenant);
    return rows_of(tree, names);
}

/// Devices that one of the jobs could have; all if further jobs can come.
[[nodiscard]] std::int64_t most_devices_of(std::span<job_config const> jobs, std::int64_t devices, bool open) noexcept {
    std::int64_t most = open ? devices : 1;
    for (auto const& job : jobs)
        if (job.elastic) most = std::max(most, std::min(job.elastic->devices.maximum, devices));
    return most;
}

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

estimated_from estimated_from::declare(snapshot_store& store) {
    auto const total = store.declare<double>("jobs/total_steps.reported");
    auto const batch = store.declare<std::int64_t>("jobs/batch.reported");
    auto const workers = store.declare<std::int64_t>("jobs/workers");
    RATION_ASSERT(total && batch && workers && store.declare<double>("jobs/throttled.cpu"),
                  "the store has none of these names");
    return {*total, *batch, *workers};
}

job_table::job_table(std::span<job_config const> jobs, host_supply const& supply, std::size_t capacity)
    : capacity_(std::max(capacity, jobs.size())), last_id_(jobs.size()), tenants_(tenants_of(jobs, supply.tenants)),
      half_life_(supply.tenants.half_life), phases_(supply.phases) {
    auto declared = standard_columns::declare(store_, host_resources(supply.devices.has_value()));
    RATION_ASSERT(declared, "an empty store takes the standard columns");
    columns_ = *declared;
    RATION_ASSERT(columns_.add(store_, "jobs/loss.target") && columns_.add(store_, "jobs/total_steps"),
                  "the store has none of these names");
    measured_ = estimated_from::declare(store_);
    if (!phases_.empty())
        for (auto const name : {"jobs/class", "jobs/phase", "jobs/expected.cpu", "jobs/expected.memory"})
            RATION_ASSERT(columns_.add(store_, name), "the store has none of these names");
    if (supply.devices)
        devices_.emplace(store_, columns_, most_devices_of(jobs, *supply.devices, supply.open), capacity_);
    RATION_ASSERT(store_.resize(table_id::nodes, 1), "memory for the nodes table");
    store_[of(resource_id::cpu).capacity][0] = supply.cpu.count;
    store_[of(resource_id::memory).capacity][0] = supply.memory.count;
    if (devices_ && supply.devices) devices_->set_capacity(*supply.devices);
    std::vector<std::size_t> order(jobs.size()), rows(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(jobs[i].at.count, i); });
    for (std::size_t row = 0; row < order.size(); ++row) {
        rows[order[row]] = row;
        by_id_.push_back({job_id{row + 1}, order[row]});
    }
    jobs_.reserve(capacity_);
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs_.emplace_back(jobs[i], job_id{rows[i] + 1}, rows[i], i);
    RATION_ASSERT(store_.resize(table_id::jobs, capacity_) && store_.resize(table_id::jobs, 0),
                  "memory for the jobs table");
    RATION_ASSERT(fill_tenants(store_, columns_, tenants_.rows), "memory for the tenants table");
}

std::size_t job_table::slot_of(job_id id) const noexcept {
    auto const at = std::ranges::lower_bound(by_id_, id, {}, &numbered::id);
    RATION_ASSERT(at != by_id_.end() && at->id == id, "the job is in the table");
    return at->slot;
}

live_job& job_table::add(std::shared_ptr<job_config const> config, std::uint32_t incarnations) {
    RATION_ASSERT(free_slots() > 0, "a job is added to a free slot");
    auto const free = std::ranges::find_if(jobs_, &live_job::forgotten);
    auto const slot = static_cast<std::size_t>(std::distance(jobs_.begin(), free));
    job_id const id{++last_id_};
    live_job made(*config, id, by_id_.size(), slot);
    made.owned = std::move(config);
    made.run.value = incarnations;
    // Its number is of use without a row of the table: a policy distinguishes tenants by it
    tenants_.add(made.config->tenant);
    by_id_.push_back({id, slot});
    if (free == jobs_.end())
        jobs_.push_back(std::move(made));
    else
        *free = std::move(made);
    return jobs_[slot];
}

void job_table::forget(live_job& job) noexcept {
    RATION_ASSERT(job.over() && !job.forgotten, "a job that is over is forgotten once");
    if (arrived(job)) store_.erase_row(table_id::jobs, job.row);
    by_id_.erase(by_id_.begin() + static_cast<std::ptrdiff_t>(job.row));
    for (auto row = job.row; row < by_id_.size(); ++row) jobs_[by_id_[row].slot].row = row;
    job.row = std::numeric_limits<std::size_t>::max();
    job.forgotten = true;
    job.devices = nullptr;  // they are removed with it
}

std::size_t job_table::running_with(live_job const& launched) const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(jobs_, [&](live_job const& job) {
        // A job without devices is launched as soon as it has arrived
        bool const waits_for_devices = job.devices != nullptr && job.waiting();
        bool const runs = arrived(job) && !job.over() && !waits_for_devices;
        // A job that has submitted another one is about to end, or waits for it
        return job.id == launched.id || (runs && job.config->name != launched.config->submitter);
    }));
}

bool job_table::arrive(nanoseconds now) noexcept {
    std::size_t const before = store_.rows(table_id::jobs);
    std::size_t rows = before;
    while (rows < by_id_.size() && jobs_[by_id_[rows].slot].config->at <= now) ++rows;
    if (rows == before) return false;
    RATION_ASSERT(store_.resize(table_id::jobs, rows), "the memory was there before");
    for (std::size_t row = before; row < rows; ++row) describe(jobs_[by_id_[row].slot]);
    return true;
}

void job_table::describe(live_job const& job) noexcept {
    job_config const& config = *job.config;
    std::size_t const row = job.row;
    store_[columns_.id][row] = job.id.value;
    store_[columns_.get<"jobs/tenant">()][row] = tenants_.row_of(config.tenant);
    store_[columns_.get<"jobs/weight">()][row] = config.weight;
    store_[columns_.get<"jobs/priority">()][row] = config.priority;
    store_[columns_.get<"jobs/submitted">()][row] = config.at.count;
    store_[columns_.tiers][row] = two_tier_target::objective_tier;
    store_[columns_.remaining][row] = unknown;
    store_[of(resource_id::cpu).minimum][row] = config.cpu.minimum;
    store_[of(resource_id::cpu).maximum][row] = config.cpu.maximum;
    store_[of(resource_id::memory).maximum][row] = config.memory ? config.memory->count : unlimited;
    if (!phases_.empty())
        store_[columns_.get<"jobs/class">()][row] =
            phases_.class_of(config.phase_class.empty() ? config.name : config.phase_class);
    if (devices_) devices_->describe(job);
}

void job_table::refresh(nanoseconds now, std::span<training_progress const> progress) noexcept {
    for (auto const& job : jobs_) {
        if (!arrived(job)) continue;
        auto const& training = progress[job.slot];
        store_[columns_.state][job.row] = static_cast<std::uint32_t>(state_of(job.now));
        store_[columns_.started][job.row] = job.launched_at ? job.launched_at->count : -1;
        store_[columns_.step][job.row] = training.step;
        store_[columns_.tier][job.row] =
            job.trains_on ? std::min(training.tier(), two_tier_target::acceptable_tier) : training.tier();
        // Else the last one of its earlier launch
        if (auto const loss = training.smoothed()) store_[columns_.loss][job.row] = *loss;
        store_[columns_.get<"jobs/loss.best">()][job.row] = training.best().value_or(0);
        store_[columns_.get<"jobs/loss.target">()][job.row] = training.next_target().value_or(unknown);
        if (auto const* const level = training.level()) {
            store_[columns_.get<"jobs/slo.met">()][job.row] = level->met();
            store_[columns_.get<"jobs/slo.slack">()][job.row] = level->slack();
        }
        auto const total = static_cast<double>(training.total_steps);
        store_[measured_.total_steps][job.row] = total;
        store_[measured_.batch][job.row] = static_cast<std::int64_t>(progress[job.slot].batch);
        bool const has_devices = job.devices != nullptr && job.alive();
        store_[measured_.workers][job.row] =
            has_devices ? static_cast<std::int64_t>(job.devices->state().devices.size()) : 0;
        store_[columns_.get<"jobs/total_steps">()][job.row] = total > 0 ? total : unknown;
        if (!job.alive()) store_[of(resource_id::cpu).used][job.row] = 0;
    }
    if (devices_) devices_->refresh(jobs_, now);
}

double job_table::used_cores(live_job const& job) const noexcept {
    return arrived(job) ? store_[of(resource_id::cpu).used][job.row] / 1000 : 0;
}

std::int64_t job_table::held_cpu(live_job const& job) const noexcept {
    return arrived(job) ? store_[of(resource_id::cpu).held][job.row] : 0;
}

}  // namespace ration::program
