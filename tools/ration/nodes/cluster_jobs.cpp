// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_jobs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include <ration/host/grant_event.hpp>

#include "common/printable.hpp"
#include "events/json_reader.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::int64_t largest_of(cluster_nodes const& nodes) {
    std::int64_t most = 1;
    for (std::size_t node = 0; node < nodes.registry().size(); ++node) most = std::max(most, nodes.devices(node));
    return most;
}

[[nodiscard]] host_supply supply_of(run_config const& config, cluster_nodes const& nodes) {
    return {.cpu = {}, .memory = {}, .devices = largest_of(nodes), .tenants = config.tenants};
}

constexpr auto gpu_index = static_cast<std::size_t>(resource_id::gpu),
               cpu_index = static_cast<std::size_t>(resource_id::cpu),
               memory_index = static_cast<std::size_t>(resource_id::memory);

}  // namespace

cluster_jobs::cluster_jobs(run_config const& config, cluster_nodes& nodes, replaceable_policy& policy)
    : nodes_(nodes), jobs_(config.jobs, supply_of(config, nodes)), progress_(initial_progress(jobs_.jobs())),
      reported_(config.jobs.size()), was_lost_(nodes.registry().size()), incoming_(nodes.registry().size()),
      backend_(nodes.registry(), nodes.names(), config.jobs.size()),
      pooled_(
          policy, [&policy] { return answers_for_one_pool(policy.current()); },
          [this](std::uint64_t id) { return nodes_of(id); }),
      limited_(pooled_, [this](std::uint64_t id) { return nodes_of(id); }), shown_(limited_),
      engine_(backend_, shown_, fallback_, jobs_.store(), jobs_.columns(), host_resources(true),
              {.half_life = jobs_.half_life()}),
      largest_(largest_of(nodes)) {
    auto& store = jobs_.store();
    RATION_ASSERT(store.resize(table_id::nodes, nodes.registry().size()), "memory for the nodes table");
    auto const request = store.find<std::int64_t>("jobs/request.gpu");
    RATION_ASSERT(request, "a run with devices has this column");
    request_ = *request;
}

result<void> cluster_jobs::bind() {
    return engine_.bind({.jobs = jobs_.capacity(),
                         .nodes = nodes_.registry().size(),
                         .tenants = jobs_.store().rows(table_id::tenants)});
}

live_job* cluster_jobs::find(std::string_view name) noexcept {
    auto const found =
        std::ranges::find(jobs_.jobs(), name, [](live_job const& job) -> std::string_view { return job.config->name; });
    return found == jobs_.jobs().end() ? nullptr : &*found;
}

job_nodes cluster_jobs::nodes_of(std::uint64_t id) const {
    auto const& grant = backend_.grant_of(id - 1);
    if (!grant.node) return {};
    return {.held = {{*grant.node, grant.devices}}};
}

std::int64_t cluster_jobs::devices_of(live_job const& job) const noexcept {
    auto const& row = reported_[job.slot].row;
    return row ? row->devices : 0;
}

std::int64_t cluster_jobs::granted_to(live_job const& job) const noexcept {
    return backend_.grant_of(number_of(job)).devices;
}

double cluster_jobs::device_seconds(live_job const& job) const noexcept {
    auto const& mine = reported_[job.slot];
    return mine.attained_before + (mine.row ? mine.row->attained : 0);
}

result<void, std::string> cluster_jobs::take_state(std::size_t node, state_report const& state, nanoseconds now) {
    auto const rows = parse_json(state.rows);
    for (auto const& json : rows) {
        auto row = read_node_row(json);
        if (!row) return row.failure();
        auto const* const job = find(row->job);
        if (job == nullptr || nodes_.registry().node_of(number_of(*job)) != node)
            return fmt::format("it names job {}, which it was not given; use the same version of ration on all nodes",
                               quoted(printable(row->job)));
        if (row->devices > std::ssize(nodes_.facts(node).devices) ||
            row->granted > std::ssize(nodes_.facts(node).devices))
            return fmt::format("its job {} has more devices than the node; use the same version of ration on all nodes",
                               quoted(row->job));
        incoming_[node].push_back(std::move(*row));
    }
    if (!state.more) take_rows(node, state.grants, std::exchange(incoming_[node], {}), now);
    return {};
}

void cluster_jobs::take_rows(std::size_t node, std::uint64_t list, std::vector<node_row> rows, nanoseconds now) {
    std::vector<std::size_t> present;
    bool const is_latest = list == nodes_.list_of(node);
    for (auto& row : rows) {
        auto& job = *find(row.job);
        present.push_back(number_of(job));
        auto& mine = reported_[job.slot];
        bool const changed = !mine.row || mine.row->settled != row.settled || mine.row->devices != row.devices ||
                             mine.row->least != row.least || mine.row->most != row.most;
        if (changed) request_tick();
        job.run.value = std::max(job.run.value, row.incarnation);
        bool const ends = is_over(row.now) && (row.now != condition::stopped || nodes_.is_ending());
        if (!job.over() && ends) finish(job, row.now, row.why, now);
        auto const& grant = backend_.grant_of(number_of(job));
        auto const sent = grant.node == node ? grant.devices : 0;
        bool const differs = is_latest && row.settled && row.granted != sent && !job.over() &&
                             !nodes_.registry().is_leaving(number_of(job));
        if (differs) roll_back(job, node, row.granted, now);
        mine.row = std::move(row);
    }
    nodes_.registry().report(node, list, present);
}

/// The ledger gets what the job really holds.
void cluster_jobs::roll_back(live_job const& job, std::size_t node, std::int64_t devices, nanoseconds now) {
    auto const number = number_of(job);
    auto grant = backend_.grant_of(number);
    if (grant.node && *grant.node != node)
        engine_.reattach({job.id, static_cast<std::uint32_t>(*grant.node), resource_id::gpu, 0}, now);
    engine_.reattach({job.id, static_cast<std::uint32_t>(node), resource_id::gpu, devices}, now);
    grant.node = devices > 0 ? std::optional(node) : std::nullopt;
    grant.devices = devices;
    backend_.set(number, grant);
    nodes_.change_list(node);
    auto const failed =
        event_of(event_kind::grant_failed, {job.id, static_cast<std::uint32_t>(node), resource_id::gpu, devices},
                 static_cast<std::uint32_t>(job.row), now);
    shown_.on_events({&failed, 1});
    request_tick();
}

void cluster_jobs::finish(live_job& job, condition how, std::string why, nanoseconds now) {
    engine_.release(job.id);
    backend_.set(number_of(job), {});
    job.now = how;
    job.why = std::move(why);
    job.ended_at = now;
    request_tick();
}

std::vector<live_job*> cluster_jobs::release_lost() {
    std::vector<live_job*> out;
    for (auto& job : jobs_.jobs()) {
        auto& mine = reported_[job.slot];
        auto const& grant = backend_.grant_of(number_of(job));
        auto const state = grant.node ? nodes_.registry().state(*grant.node) : node_state::up;
        bool const is_away = state == node_state::lost || state == node_state::gone;
        bool const has_left = mine.row && !nodes_.registry().node_of(number_of(job));
        if (has_left) mine.attained_before += mine.row->attained;
        if (has_left) mine.row.reset();
        // A job that waits has left one node for another
        if (job.over() || (!is_away && (!has_left || job.waiting()))) continue;
        if (grant.node) was_lost_[*grant.node] = true;
        engine_.release(job.id);
        backend_.set(number_of(job), {});
        progress_[job.slot].tracker.clear_window();
        job.launched_at.reset();
        out.push_back(&job);
        request_tick();
    }
    return out;
}

void cluster_jobs::move() {
    auto& registry = nodes_.registry();
    for (auto& job : jobs_.jobs()) {
        auto const number = number_of(job);
        auto const at = registry.node_of(number);
        auto const& target = backend_.grant_of(number).node;
        auto const& row = reported_[job.slot].row;
        bool const has_left = row && row->settled && row->granted == 0 && row->devices == 0;
        bool const moves = target && at && *target != *at && has_left;
        if (at && (job.over() || moves) && !registry.is_leaving(number))
            registry.withdraw(number, nodes_.change_list(*at));
        if (target && !job.over() && registry.may_assign(number, *target))
            registry.assign(number, *target, nodes_.change_list(*target));
    }
}

tick_report cluster_jobs::tick(nanoseconds now) {
    requested_tick_ = false;
    refresh(now);
    std::vector<std::optional<observation>> const unseen(jobs_.store().rows(table_id::jobs));
    auto const report = engine_.tick(now, unseen);
    if (std::ranges::find(was_lost_, true) != was_lost_.end()) request_tick();
    was_lost_.assign(was_lost_.size(), false);
    for (auto const& change : report.changes) {
        auto const node = nodes_.registry().node_of(change.grant.job.value - 1);
        if (node) nodes_.change_list(*node);
    }
    return report;
}

void cluster_jobs::refresh(nanoseconds now) {
    auto& store = jobs_.store();
    jobs_.refresh(now, progress_);
    auto const& columns = jobs_.columns();
    for (std::size_t node = 0; node < nodes_.registry().size(); ++node) {
        // A silent node gets no further jobs: what is free on it cannot be had. One that has lost its jobs has no
        // devices for one tick, so that policies which divide again only at changes do so.
        auto const devices = was_lost_[node] ? 0
                             : nodes_.registry().state(node) == node_state::up
                                 ? nodes_.devices(node)
                                 : engine_.holdings().sum(static_cast<std::uint32_t>(node), resource_id::gpu);
        store.at(columns.resources[gpu_index].capacity, node) = devices;
        store.at(columns.resources[cpu_index].capacity, node) = nodes_.facts(node).cpu;
        store.at(columns.resources[memory_index].capacity, node) = nodes_.facts(node).memory;
    }
    for (auto const& job : jobs_.jobs())
        if (jobs_.arrived(job)) describe(job);
}

/// The columns that only the node of the job knows; without one, those of a job that can start.
void cluster_jobs::describe(live_job const& job) noexcept {
    auto& store = jobs_.store();
    auto const& columns = jobs_.columns();
    auto const& wants = job.elastic();
    auto const& mine = reported_[job.slot];
    std::int64_t least = wants.devices.minimum, most = std::min(wants.devices.maximum, largest_);
    store.at(request_, job.row) = most;
    auto const at = nodes_.registry().node_of(number_of(job));
    bool const stands = at && nodes_.registry().state(*at) != node_state::up;
    if (mine.row && mine.row->devices > 0) {
        least = mine.row->least;
        most = mine.row->most;
    }
    bool const moves =
        at && mine.row && backend_.grant_of(number_of(job)).node && backend_.grant_of(number_of(job)).node != at;
    if (stands || moves || (mine.row && !mine.row->settled)) least = most = granted_to(job);
    store.at(columns.resources[gpu_index].minimum, job.row) = least;
    store.at(columns.resources[gpu_index].maximum, job.row) = most;
    store.at(columns.resources[gpu_index].used, job.row) = mine.row ? mine.row->used : 0;
    store.at(columns.get<"jobs/attained">(), job.row) = device_seconds(job);
    store.at(columns.restart_cost, job.row) = mine.row ? mine.row->restart_cost : to_seconds(wants.restart_cost);
    store.at(columns.resources[gpu_index].requested, job.row) = mine.row ? mine.row->requested : 0;
}

}  // namespace ration::program
