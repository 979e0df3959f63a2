// SPDX-License-Identifier: BSL-1.0
// One turn of the engine, told to everybody.
#include <fmt/core.h>
#include <fstream>
#include <optional>
#include <sys/utsname.h>
#include <utility>
#include <vector>

#include "common/error_text.hpp"
#include "events/machine.hpp"
#include "policies/plugin_policy.hpp"
#include "run/supervisor.hpp"

namespace ration::program {

void supervisor::announce(nanoseconds now) {
    run_started begin{.policy = parts_.policy_name,
                      .policy_version = std::string(parts_.policy.about().version),
                      .isolation = isolation_of(parts_.policy),
                      .unix_time = std::time(nullptr),
                      .cpus = static_cast<std::uint32_t>(parts_.node.capacity().count / 1000),
                      .tick = parts_.config.tick,
                      .file = parts_.config.file,
                      .source = parts_.config.source,
                      .machine = machine_here(),
                      .controls = parts_.node.controls(),
                      .devices = {parts_.devices.names().begin(), parts_.devices.names().end()},
                      .schema = board_.store().schema()};
    std::vector<std::string> advice;
    if (board_.shares_devices()) begin.controls.push_back(control_of_devices(advice));
    emit(std::move(begin), now);
    for (auto const& sentence : advice) parts_.out.print("advisory: " + sentence);
    for (auto const& sentence : parts_.node.approximations()) parts_.out.print("approximate: " + sentence);
    if (!parts_.node.shared_cpus().empty()) warn_once("cpus", parts_.node.shared_cpus(), now);
    warn_of_placement(now);
}

void supervisor::tick(nanoseconds now) {
    news_ = false;
    next_tick_ = now + parts_.config.tick;
    std::vector<std::optional<observation>> observed(board_.store().rows(table_id::jobs));
    for (auto& job : board_.jobs()) {
        if (!job.alive()) continue;
        reconcile(job, now);
        auto const seen = parts_.node.observe(job.id);
        if (!seen) continue;
        job.cpu_time = std::max(job.cpu_time, seen->cpu_time);
        job.memory = seen->memory;
        job.health.observe(now, *seen);
        if (board_.arrived(job)) observed[job.row] = *seen;
    }
    nanoseconds used{};
    for (auto const& job : board_.jobs()) used = used + job.earlier_cpu_time + job.cpu_time;
    cpu_of_all_.read(now, used.count);
    classify_health(now);
    spare_.read(now);
    board_.set_capacity(spare_.available(board_.used_cores() * 1000, parts_.node.capacity()));
    board_.set_devices(elastic_.usable());
    board_.refresh(now);
    auto const report = engine_.tick(now, observed);
    nanoseconds const took = clock() - now;
    emit_policy_log(now);  // what it said before its answer
    emit(report, took);
    for (auto const& change : report.changes) {
        auto& job = board_.job(change.grant.job);
        bool const sizes_it =
            change.grant.resource() == resource_id::gpu || change.grant.resource() == resource_id::batch;
        if (sizes_it && !parts_.node.ends(job.id)) continue;  // its machine sees to it
        if (change.grant.amount() != 0)
            job.health.resume(now);
        else if (parts_.node.ends(job.id))
            ask_to_stop(job, stop_reason::objective_reached, now);
        else
            job.health.suspend(now);
    }
    end_released(report, now);
    work_on_devices(now);
}

/// A job whose limits cannot be kept holds nothing: what it was granted is not in force.
void supervisor::reconcile(live_job& job, nanoseconds now) {
    for (auto const& sentence : parts_.node.reconcile(job.id, *job.process)) warn_once(job.config->name, sentence, now);
    if (parts_.node.keeps_limits(job.id)) return;
    for (auto const r : {resource_id::cpu, resource_id::memory}) engine_.reattach({job.id, 0, r, 0}, now);
}

/// A job that reaches its Objective before its first limit holds nothing yet, so that its release is no change.
void supervisor::end_released(tick_report const& report, nanoseconds now) {
    auto const ids = std::as_const(board_.store())[board_.columns().id];
    for (auto const& g : report.grants) {
        if (g.amount != 0 || g.resource != static_cast<std::uint16_t>(resource_id::cpu) || g.job >= ids.size())
            continue;
        auto& job = board_.job({ids[g.job]});
        if (job.alive() && parts_.node.ends(job.id)) ask_to_stop(job, stop_reason::objective_reached, now);
    }
}

void supervisor::emit_policy_log(nanoseconds now) {
    for (auto const& line : parts_.log.take()) {
        auto const showing = log_filter_.classify(line);
        emit(policy_logged{.policy = parts_.policy_name,
                           .level = name_of_level(line.level),
                           .text = line.text,
                           .for_people = showing != policy_log_filter::showing::no},
             now);
        if (showing == policy_log_filter::showing::last)
            parts_.out.print(fmt::format("more warnings of policy {} are in the event log only", parts_.policy_name));
    }
}

void supervisor::emit(tick_report const& report, nanoseconds took) {
    nanoseconds const now = report.now;
    auto const shown = shown_.last(), left = board_.store().view();
    emit(decision{.number = report.number,
                  .seed = report.number,
                  .budget = milliseconds(100),
                  .took = took,
                  .schema = board_.store().schema(),
                  .shown = &shown,
                  .left = &left,
                  .status = static_cast<int>(report.policy_status),
                  .grants = report.grants,
                  .fell_back = report.fell_back},
         now);
    if (auto const trouble = trouble_of(parts_.policy); !trouble.empty())
        warn_once("policy " + parts_.policy_name, trouble + "; the last good limits stay", now);
    else if (report.fell_back)
        warn_once("policy " + parts_.policy_name,
                  fmt::format("its answer was refused (status {}); the last good limits stay",
                              static_cast<int>(report.policy_status)),
                  now);
    for (auto const& change : report.changes) {
        auto& job = board_.job(change.grant.job);
        job.waits.reset();
        for (auto const& operation : report.operations.subspan(change.first_operation, change.operations))
            emit(change_applied{.job = job.config->name,
                                .operation = operation,
                                .took = took,
                                .reason = parts_.policy.about().reason(change.grant.reason())},
                 now);
    }
    for (auto const& [grant, why] : report.deferred) {
        auto& job = board_.job(grant.job);
        if (job.waits == why) continue;
        job.waits = why;
        emit(change_deferred{.job = job.config->name,
                             .resource = standard_resources[static_cast<std::size_t>(grant.resource())].name,
                             .amount = grant.amount(),
                             .why = why},
             now);
    }
    for (auto const& rejected : report.rejected)
        emit(grant_rejected{.row = report.grants[rejected.row], .rule = rejected.rule, .detail = parts_.policy_name},
             now);
    for (auto const& failed : report.failed)
        warn_once(
            board_.job(failed.grant.job).config->name,
            fmt::format("a limit could not be changed: {}{}", to_text(failed.failure.cause),
                        failed.failure.rolled_back ? "; the old one stays" : "; the old one could not be restored"),
            now);
}

}  // namespace ration::program
