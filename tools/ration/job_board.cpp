// SPDX-License-Identifier: BSL-1.0
#include "job_board.hpp"

#include <limits>
#include <map>
#include <string_view>

namespace ration::program {
namespace {

[[nodiscard]] job_state state_of(condition c) noexcept {
    switch (c) {
        case condition::waiting: return job_state::queued;
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

}  // namespace

job_board::job_board(std::span<job_config const> jobs, millicores cpu, bytes memory) {
    auto declared = standard_columns::declare(store_, host_resources);
    RATION_ASSERT(declared, "an empty store takes the standard columns");
    columns_ = *declared;
    RATION_ASSERT(store_.resize(table_id::jobs, jobs.size()), "memory for the jobs table");
    RATION_ASSERT(store_.resize(table_id::nodes, 1), "memory for the nodes table");
    store_[of(resource_id::cpu).capacity][0] = cpu.count;
    store_[of(resource_id::memory).capacity][0] = memory.count;
    std::map<std::string_view, std::uint32_t> tenants;
    for (std::size_t row = 0; row < jobs.size(); ++row) {
        job_config const& job = *jobs_.emplace_back(jobs[row], row).config;
        store_[columns_.id][row] = row + 1;
        store_[columns_.tenant][row] = tenants.try_emplace(job.tenant, static_cast<std::uint32_t>(tenants.size())).first->second;
        store_[columns_.weight][row] = job.weight;
        store_[columns_.submitted][row] = job.at.count;
        store_[columns_.tiers][row] = two_tier_target::objective_tier;
        store_[columns_.remaining][row] = unknown;
        store_[of(resource_id::cpu).minimum][row] = job.cpu.minimum;
        store_[of(resource_id::cpu).maximum][row] = job.cpu.maximum;
        store_[of(resource_id::memory).maximum][row] = job.memory ? job.memory->count : unlimited;
    }
}

void job_board::refresh() noexcept {
    for (auto const& job : jobs_) {
        store_[columns_.state][job.row] = static_cast<std::uint32_t>(state_of(job.now));
        store_[columns_.started][job.row] = job.started_at ? job.started_at->count : -1;
        store_[columns_.step][job.row] = job.step;
        store_[columns_.tier][job.row] = job.tracker.tier();
        store_[columns_.loss][job.row] = job.tracker.smoothed().value_or(0);
        store_[columns_.best_loss][job.row] = job.tracker.best().value_or(0);
        if (!job.alive()) store_[of(resource_id::cpu).used][job.row] = 0;
    }
}

double job_board::used_cores() const noexcept {
    double sum = 0;
    for (double const millicores : store_[of(resource_id::cpu).used]) sum += millicores;
    return sum / 1000;
}

double job_board::used_cores(live_job const& job) const noexcept { return store_[of(resource_id::cpu).used][job.row] / 1000; }

}  // namespace ration::program
