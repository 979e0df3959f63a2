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

[[nodiscard]] std::vector<std::string> names_of(cluster_nodes const& nodes) {
    std::vector<std::string> out;
    out.reserve(nodes.registry().size());
    for (std::size_t node = 0; node < nodes.registry().size(); ++node) out.push_back(nodes.name(node));
    return out;
}

[[nodiscard]] std::int64_t most_devices_of(run_config const& config, cluster_nodes const& nodes) {
    std::int64_t most = 1;
    auto largest = devices_of_largest(nodes);
    // A node that still starts may have as many devices as the largest one
    if (is_any_starting(nodes.registry()))
        for (std::size_t other = 1; other < largest.size(); ++other)
            largest[other] = largest[other - 1] + largest.front();
    for (auto const& job : config.jobs) most = std::max(most, reachable_devices(largest, job));
    return most;
}

constexpr auto gpu_index = static_cast<std::size_t>(resource_id::gpu),
               cpu_index = static_cast<std::size_t>(resource_id::cpu),
               memory_index = static_cast<std::size_t>(resource_id::memory);

}  // namespace

cluster_jobs::cluster_jobs(run_config const& config, cluster_nodes& nodes, replaceable_policy& policy,
                           std::span<std::unique_ptr<any_estimator> const> from_files, std::int64_t devices)
    : nodes_(nodes), most_devices_(std::max(devices, most_devices_of(config, nodes))),
      jobs_(config.jobs, {.cpu = {}, .memory = {}, .devices = most_devices_, .tenants = config.tenants}),
      progress_(initial_progress(jobs_.jobs())), withheld_(nodes.registry().size()), incoming_(nodes.registry().size()),
      backend_(nodes.registry(), names_of(nodes), config.jobs.size()),
      launches_(nodes, backend_, config.jobs.size(), config.devices.of_shares()),
      pooled_(
          policy, [&policy] { return answers_for_one_pool(policy.current()); },
          [this](std::uint64_t id) { return nodes_of(id); }),
      limited_(pooled_, [this](std::uint64_t id) { return nodes_of(id); }), shown_(limited_),
      estimators_({}, {.has_devices = true, .measures_use = false}, from_files),
      engine_(backend_, shown_, fallback_, jobs_.store(), jobs_.columns(), host_resources(true),
              {.half_life = jobs_.half_life(), .estimates = estimators_.stage()}) {
    auto& store = jobs_.store();
    RATION_ASSERT(store.resize(table_id::nodes, nodes.registry().size()), "memory for the nodes table");
    auto const request = store.find<std::int64_t>("jobs/request.gpu");
    auto const workers = store.find<std::int64_t>("jobs/workers");
    RATION_ASSERT(request && workers, "a run with devices has these columns");
    request_ = *request;
    workers_ = *workers;
}

result<void> cluster_jobs::bind() {
    return engine_.bind({.jobs = jobs_.capacity(),
                         .nodes = nodes_.registry().size(),
                         .tenants = jobs_.store().rows(table_id::tenants)});
}

void cluster_jobs::restore(recorded_launch const& recorded, nanoseconds now) {
    auto* const found = find(recorded.job);
    if (found == nullptr) return;
    auto& job = *found;
    auto const number = number_of(job);
    auto& progress = progress_of(job);
    job.run.value = recorded.incarnation;
    job.started_at = job.launched_at = recorded.started;
    progress.step = recorded.step;
    progress.acceptable_at = recorded.acceptable;
    progress.objective_at = recorded.objective;
    auto& launch = launches_.of(number);
    launch.attained_before = recorded.attained;
    if (recorded.how) {
        job.now = *recorded.how;
        job.why = recorded.why;
        job.ended_at = recorded.ended.value_or(now);
    }
    for (auto const& part : recorded.layout)
        if (auto const node = find_node(nodes_, part.node)) set_share(launch.layout, *node, part.devices);
    launch.incarnation = recorded.incarnation;
    launch.trained = launch.layout;
    launch.has_trained = recorded.step > 0;
    launch.start.begin(now);
    if (job.over() || recorded.leaving || nodes_.registry().is_free(number)) return;
    backend_.set(number, {.shares = launch.layout, .batch = recorded.batch});
    for (auto const& share : launch.layout)
        engine_.reattach({job.id, static_cast<std::uint32_t>(share.node), resource_id::gpu, share.devices}, now);
}

live_job* cluster_jobs::find(std::string_view name) noexcept {
    auto const found =
        std::ranges::find(jobs_.jobs(), name, [](live_job const& job) -> std::string_view { return job.config->name; });
    return found == jobs_.jobs().end() ? nullptr : &*found;
}

job_nodes cluster_jobs::nodes_of(std::uint64_t id) const {
    auto const& elastic = table().job({id}).config->elastic;
    return {.held = backend_.grant_of(id - 1).shares,
            .most = static_cast<std::size_t>(elastic ? elastic->most_nodes : 1)};
}

result<void, std::string> cluster_jobs::take_state(std::size_t node, state_report const& state, nanoseconds now) {
    auto const rows = parse_json(state.rows);
    for (auto const& json : rows) {
        auto row = read_node_row(json);
        if (!row) return row.failure();
        auto const* const job = find(row->job);
        if (job == nullptr || !nodes_.registry().is_on(number_of(*job), node))
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
    // An agent that has kept its jobs reports the devices in force; they are no answer to a list
    bool const is_latest = nodes_.registry().awaits_report(node) || list == nodes_.list_of(node);
    for (auto& row : rows) {
        auto& job = *find(row.job);
        present.push_back(number_of(job));
        take_row(job, node, is_latest, std::move(row), now);
    }
    nodes_.registry().report(node, list, present);
}

void cluster_jobs::take_row(live_job& job, std::size_t node, bool is_latest, node_row&& row, nanoseconds now) {
    auto const number = number_of(job);
    auto& launch = launches_.of(number);
    auto const before = launch.rows.find(node);
    bool const changed = before == launch.rows.end() || before->second.settled != row.settled ||
                         before->second.devices != row.devices || before->second.least != row.least ||
                         before->second.most != row.most || before->second.resizable != row.resizable;
    if (changed) request_tick();
    job.run.value = std::max(job.run.value, row.incarnation);
    bool const runs_on = nodes_.registry().awaits_report(node) && row.devices > 0 && !is_over(row.now);
    if (runs_on && job.waiting()) job.now = row.now;
    bool const ends = is_over(row.now) && (row.now != condition::stopped || nodes_.is_ending() || launch.has_parts());
    if (!job.over() && ends && launches_.end_part(number, node, row.now, row.why)) finish(job, row.now, row.why, now);
    auto const sent = launches_.sent_to(number, node);
    bool const differs = is_latest && row.settled && row.granted != sent && !job.over() && launch.is_lead(node) &&
                         !nodes_.registry().is_leaving(number) && launch.failure.empty();
    auto const granted = row.granted;
    launch.rows.insert_or_assign(node, std::move(row));
    if (!differs) return;
    node_shares one;
    set_share(one, node, granted);
    roll_back(job, launch.has_parts() ? launch.layout : one, now);
}

/// Sets the holdings of the engine to the shares that the job has.
void cluster_jobs::roll_back(live_job const& job, node_shares const& shares, nanoseconds now) {
    auto const number = number_of(job);
    auto grant = backend_.grant_of(number);
    for (auto const& share : grant.shares)
        engine_.reattach({job.id, static_cast<std::uint32_t>(share.node), resource_id::gpu, 0}, now);
    for (auto const& share : shares)
        engine_.reattach({job.id, static_cast<std::uint32_t>(share.node), resource_id::gpu, share.devices}, now);
    auto const failed = event_of(event_kind::grant_failed,
                                 {job.id, static_cast<std::uint32_t>(shares.empty() ? 0 : shares.front().node),
                                  resource_id::gpu, devices_in(grant.shares)},
                                 static_cast<std::uint32_t>(job.row), now);
    grant.shares = shares;
    backend_.set(number, std::move(grant));
    launches_.of(number).is_stopping = false;
    for (auto const node : nodes_.registry().nodes_of(number)) nodes_.change_list(node);
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

std::vector<live_job*> cluster_jobs::release_lost(nanoseconds now) {
    std::vector<live_job*> out;
    for (auto& job : jobs_.jobs()) {
        launches_.limit_start(job, now);
        bool const is_lost = launches_.is_lost(job);
        if (job.over() || !is_lost) continue;
        release(job, now);
        out.push_back(&job);
    }
    return out;
}

/// The job holds nothing. After a start that has failed it returns to the nodes on which it has trained, if it can.
void cluster_jobs::release(live_job& job, nanoseconds now) {
    auto const number = number_of(job);
    auto& launch = launches_.of(number);
    if (!launch.failure.empty()) {
        ++launch.failures;
        launch.failed_at = std::max(launch.failed_at, progress_of(job).step);
    }
    bool const has_failed_to_start = !launch.failure.empty() && !launch.has_trained;
    bool const returns =
        has_failed_to_start && launch.trained != launch.layout && launches_.can_return(number, launch.trained);
    if (has_failed_to_start) launch.rest.fail(now);
    if (launch.has_parts() && !nodes_.registry().is_leaving(number)) launches_.withdraw(number);
    job.why = std::exchange(launch.failure, {});
    if (returns) {
        roll_back(job, launch.trained, now);
    } else {
        for (auto const& share : backend_.grant_of(number).shares) withheld_[share.node] += share.devices;
        engine_.release(job.id);
        backend_.set(number, {});
    }
    progress_of(job).end_incarnation(now);
    job.launched_at.reset();
    request_tick();
}

tick_report cluster_jobs::tick(nanoseconds now, event_sink& events) {
    requested_tick_ = false;
    refresh(now);
    std::vector<std::optional<observation>> const unseen(jobs_.store().rows(table_id::jobs));
    auto const report = engine_.tick(now, unseen);
    estimators_.warn_of_faults(events, now);
    if (std::ranges::any_of(withheld_, [](std::int64_t devices) { return devices > 0; })) request_tick();
    withheld_.assign(withheld_.size(), 0);
    for (auto const& change : report.changes)
        for (auto const node : nodes_.registry().nodes_of(change.grant.job.value - 1)) nodes_.change_list(node);
    return report;
}

void cluster_jobs::refresh(nanoseconds now) {
    auto& store = jobs_.store();
    jobs_.refresh(now, progress_);
    auto const& columns = jobs_.columns();
    for (std::size_t node = 0; node < nodes_.registry().size(); ++node) {
        // A silent node gets no further jobs, so its free devices are left out. Devices of jobs that were lost are
        // withheld for one tick, so that policies which divide again only at changes do so.
        bool const is_up = nodes_.registry().state(node) == node_state::up;
        auto const held = engine_.holdings().sum(static_cast<std::uint32_t>(node), resource_id::gpu);
        auto const devices = is_up ? std::max<std::int64_t>(0, nodes_.devices(node) - withheld_[node]) : held;
        store.at(columns.resources[gpu_index].capacity, node) = devices;
        store.at(columns.resources[cpu_index].capacity, node) = nodes_.facts(node).cpu;
        store.at(columns.resources[memory_index].capacity, node) = nodes_.facts(node).memory;
    }
    auto const largest = devices_of_largest(nodes_);
    for (auto const& job : jobs_.jobs())
        if (jobs_.arrived(job)) describe(job, reachable_devices(largest, *job.config), now);
}

/// Fills the columns that only the nodes of the job measure; on no node, those of a job that can start.
void cluster_jobs::describe(live_job const& job, std::int64_t reachable, nanoseconds now) {
    auto& store = jobs_.store();
    auto const& columns = jobs_.columns();
    auto const number = number_of(job);
    auto const& wants = job.elastic();
    auto const& launch = launches_.of(number);
    auto const* const lead = launch.lead();
    std::int64_t least = wants.devices.minimum;
    // A job that the nodes of now cannot hold waits for others
    std::int64_t most = std::max(least, std::min({wants.devices.maximum, reachable, most_devices_}));
    store.at(request_, job.row) = most;
    if (lead != nullptr && lead->devices > 0 && wants.most_nodes == 1) {
        least = lead->least;
        most = lead->most;
    }
    auto const is_up = [&](std::size_t node) { return nodes_.registry().state(node) == node_state::up; };
    bool const is_fixed = lead != nullptr && (!lead->settled || (lead->devices > 0 && !lead->resizable));
    bool const rests = !launch.rest.is_over(now) && launches_.granted_to(number) > 0;
    if (is_fixed || rests || launches_.moves(number) || !std::ranges::all_of(nodes_.registry().nodes_of(number), is_up))
        least = most = launches_.granted_to(number);
    store.at(columns.resources[gpu_index].minimum, job.row) = least;
    store.at(columns.resources[gpu_index].maximum, job.row) = most;
    double used = 0;
    for (auto const& [node, row] : launch.rows) used += row.used;
    store.at(columns.resources[gpu_index].used, job.row) = used;
    store.at(workers_, job.row) = static_cast<std::int64_t>(used);
    store.at(columns.get<"jobs/attained">(), job.row) = launch.attained();
    store.at(columns.restart_cost, job.row) = lead != nullptr ? lead->restart_cost : to_seconds(wants.restart_cost);
    store.at(columns.resources[gpu_index].requested, job.row) = lead != nullptr ? lead->requested : 0;
}

}  // namespace ration::program
