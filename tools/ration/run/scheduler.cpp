// SPDX-License-Identifier: BSL-1.0
#include "run/scheduler.hpp"

#include <utility>
#include <vector>

#include <ration/host/grant_event.hpp>

#include "common/error_text.hpp"
#include "policies/plugin_policy.hpp"
#include "run/tenant_cpu.hpp"

namespace ration::program {

scheduler::scheduler(replaceable_policy& policy, node_backend& node, job_table& jobs, usage_meter const& usage,
                     rules const& how, event_sink& events)
    : policy_(policy), node_(node), jobs_(jobs), usage_(usage), events_(events), timer_(how.interval), shown_(policy),
      estimators_(how.phases, {.has_devices = jobs.shares_devices()}, how.estimators),
      engine_(node, shown_, fallback_, jobs.store(), jobs.columns(), host_resources(jobs.shares_devices()),
              {.settle = how.settle, .half_life = jobs.half_life(), .estimates = estimators_.stage()}),
      spare_(node.cpus().all(), node.jobs().capacity()) {}

result<void> scheduler::change_policy(std::unique_ptr<any_policy>& policy, nanoseconds now) {
    policy_.exchange(policy);
    auto bound = rebind(now);
    if (bound) {
        forget_cpu_limits(now);
    } else {
        policy_.exchange(policy);
        static_cast<void>(rebind(now));  // it was bound before
    }
    request_tick();
    return bound;
}

/// The engine keeps the ledger and the last good answer.
result<void> scheduler::rebind(nanoseconds now) {
    if (auto chosen = engine_.bind_estimators(); !chosen) return chosen;
    auto const& store = std::as_const(jobs_).store();
    auto bound = shown_.bind(store.schema(), {.jobs = jobs_.capacity(),
                                              .nodes = 1,
                                              .resources = host_resources(jobs_.shares_devices()).size(),
                                              .tenants = store.rows(table_id::tenants)});
    if (!bound) return bound;
    std::vector<ration::event> arrivals;
    arrivals.reserve(store.rows(table_id::jobs));
    for (auto const id : store[jobs_.columns().id])
        arrivals.push_back({.kind = event_kind::job_arrived, .id = id, .at = now});
    shown_.on_events(arrivals);
    return {};
}

tick_report scheduler::tick(nanoseconds now, std::span<training_progress const> progress,
                            std::span<std::optional<observation> const> seen, std::int64_t devices) {
    if (timer_.measures()) spare_.read(now, usage_.total());
    jobs_.set_capacity(spare_.available());
    if (auto* const columns = jobs_.devices()) columns->set_capacity(devices);
    jobs_.refresh(now, progress);
    if (!policy_.replaced() && is_quarantined(policy_.chosen())) replace_policy(now);
    auto const report = engine_.tick(now, seen.first(jobs_.store().rows(table_id::jobs)));
    if (!policy_.replaced() && is_quarantined(policy_.chosen())) request_tick();
    limit_refused(report);
    estimators_.warn_of_faults(events_, now);
    return report;
}

/// A job without a limit whose grant the limit of its tenant refuses would have more CPU than any grant gives it. It
/// gets the rest of that limit, and at least the smallest grant, since it runs.
void scheduler::limit_refused(tick_report const& report) {
    auto const ids = std::as_const(jobs_).store()[jobs_.columns().id];
    for (auto const& [row, rule] : report.rejected) {
        auto const& wanted = report.grants[row];
        if (rule != check_rule::over_tenant_limit || wanted.resource != static_cast<std::uint16_t>(resource_id::cpu))
            continue;
        auto const& job = jobs_.job({ids[wanted.job]});
        if (!job.alive() || engine_.holdings().find(job.id, 0, resource_id::cpu) != nullptr) continue;
        setting const left{job.id, 0, resource_id::cpu, take_cpu_of_tenant(jobs_.store(), jobs_.columns(), job.row)};
        if (left.amount == unlimited) continue;  // another row of its group was refused
        auto const limited = node_.limit_cpu(job.id, left.amount);
        if (limited)
            engine_.reattach(left, report.now);
        else
            events_.warn_once(job.config->name, to_text(limited.failure()), report.now);
    }
}

void scheduler::replace_policy(nanoseconds now) {
    policy_.replace();
    forget_cpu_limits(now);
}

/// No job keeps a CPU limit of the policy that is gone: to the next one, none holds a grant. Else `none` would leave
/// these limits. Devices stay, since a change of them restarts a job.
void scheduler::forget_cpu_limits(nanoseconds now) {
    for (auto const& job : jobs_.jobs())
        if (job.alive()) engine_.reattach({job.id, 0, resource_id::cpu, 0}, now);
}

void scheduler::report_failed_grant(live_job const& job, std::int64_t devices, nanoseconds now) noexcept {
    auto const failed = event_of(event_kind::grant_failed, {job.id, 0, resource_id::gpu, devices},
                                 static_cast<std::uint32_t>(job.row), now);
    policy_.on_events({&failed, 1});
}

void scheduler::reconcile(live_job const& job, nanoseconds now) {
    for (auto const& sentence : node_.jobs().reconcile(job.id, job.child()))
        events_.warn_once(job.config->name, sentence, now);
    if (node_.jobs().keeps_limits(job.id)) return;
    for (auto const r : {resource_id::cpu, resource_id::memory}) engine_.reattach({job.id, 0, r, 0}, now);
}

}  // namespace ration::program
