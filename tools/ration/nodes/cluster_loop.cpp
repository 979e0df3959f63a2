// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_loop.hpp"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <poll.h>

#include "common/quantity.hpp"
#include "events/machine.hpp"
#include "nodes/node_events.hpp"
#include "policies/plugin_policy.hpp"
#include "run/job_views.hpp"
#include "run/level_events.hpp"

namespace ration::program {
namespace {

/// So that the live view shows the time.
constexpr nanoseconds longest_cluster_wait = milliseconds(250);

}  // namespace

cluster_loop::cluster_loop(run_config const& config, planned_run const& planned, nanoseconds node_wait, run_clock clock,
                           reporter& out, stop_signals& signals, event_sink& events, cluster_nodes& nodes,
                           cluster_jobs& jobs, any_policy& chosen, replaceable_policy& policy, policy_log& log,
                           cluster_record_writer& record)
    : config_(config), planned_(planned), clock_(clock), out_(out), signals_(signals), events_(events), nodes_(nodes),
      jobs_(jobs), chosen_(chosen), policy_(policy),
      ticks_(planned.choice.policy, std::string(config.fallback_name()), policy, log, jobs.table(), events),
      record_(record), node_wait_(node_wait) {}

run_summary cluster_loop::run(std::vector<early_report> early) {
    announce(clock_.now());
    for (auto const& report : early) handle(report.node, report.what, clock_.now());
    while (!are_over()) {
        wait(clock_.now());
        nanoseconds const now = clock_.now();
        nodes_.receive([&](std::size_t node, node_report&& report) { handle(node, report, now); }, now);
        if (nodes_.advance(now)) resume(now);
        note_nodes();
        handle_signals(now);
        restart_lost(now);
        await_any_node(now);
        if (jobs_.table().arrive(now)) jobs_.request_tick();
        if (!interrupted_ && (jobs_.wants_tick() || now >= next_tick_)) tick(now);
        ticks_.emit_policy_log(now);
        send(now);
        out_.show(view(now), now);
        out_.flush(now);
    }
    nanoseconds const now = clock_.now();
    auto const total = summary(now);
    out_.emit({now, run_ended{total}});
    out_.end_of_run(view(now), now);
    return total;
}

/// With all parts: those without rank 0 end after it.
bool cluster_loop::are_over() const noexcept {
    return std::ranges::all_of(std::as_const(jobs_).table().jobs(), [&](live_job const& job) {
        auto const number = cluster_jobs::number_of(job);
        bool const has_parts = std::as_const(jobs_).launches().of(number).has_parts();
        return job.over() && (!has_parts || nodes_.registry().is_free(number));
    });
}

void cluster_loop::announce(nanoseconds now) {
    run_started begin{.policy = planned_.choice.policy,
                      .policy_version = std::string(policy_.about().version),
                      .label = planned_.choice.label,
                      .isolation = isolation_of(chosen_),
                      .unix_time = std::time(nullptr),
                      .tick = config_.tick,
                      .file = config_.file,
                      .source = config_.source,
                      .machine = machine_here(),
                      .controls = {},
                      .schema = std::as_const(jobs_).table().store().schema()};
    auto const chosen = with_parameters(config_, planned_.choice);
    if (auto const* const given = chosen.parameters_of(planned_.choice.policy))
        for (auto const& p : given->parameters) begin.parameters.push_back({p.name, p.value});
    std::string backends;
    for (std::size_t node = 0; node < nodes_.registry().size(); ++node) {
        auto const& facts = nodes_.facts(node);
        begin.cpus += static_cast<std::uint32_t>(facts.cpu / 1000);
        for (auto const& device : facts.devices) begin.devices.push_back(nodes_.name(node) + ':' + device);
        if (backends.find(facts.backend) == backends.npos) backends += (backends.empty() ? "" : ", ") + facts.backend;
    }
    begin.controls.push_back({"gpu", backends + " on each node", ""});
    events_.emit(std::move(begin), now);
}

void cluster_loop::wait(nanoseconds now) {
    std::vector<pollfd> fds{{signals_.fd(), POLLIN, 0}};
    nodes_.join(fds);
    nanoseconds until = std::min(now + longest_cluster_wait, nodes_.next_wakeup(now));
    if (!interrupted_) until = std::min(until, jobs_.wants_tick() ? now : next_tick_);
    for (auto const& job : std::as_const(jobs_).table().jobs())
        if (job.waiting() && !jobs_.table().arrived(job)) until = std::min(until, job.config->at);
    auto const left = std::max<std::int64_t>(0, (until - now).count);
    timespec const timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

void cluster_loop::handle(std::size_t node, node_report const& report, nanoseconds now) {
    result<void, std::string> taken;
    if (auto const* const state = std::get_if<state_report>(&report))
        taken = jobs_.take_state(node, *state, now);
    else if (auto const* const event = std::get_if<event_report>(&report))
        taken = node_events(nodes_, jobs_, events_).take(node, event->event, now);
    if (!taken) events_.warn_once("node " + nodes_.name(node), taken.failure(), now);
}

void cluster_loop::handle_signals(nanoseconds now) {
    int const received = signals_.read();
    if (received == 0) return;
    bool const first = !std::exchange(interrupted_, true);
    nodes_.end(received > 1);
    notice_ = "stopping the jobs; Ctrl-C again kills them";
    if (first) out_.print(notice_);
    for (auto& job : jobs_.table().jobs()) {
        auto const& registry = nodes_.registry();
        auto const at = registry.nodes_of(cluster_jobs::number_of(job));
        bool const can_answer = !at.empty() && std::ranges::all_of(at, [&](std::size_t node) {
            return registry.state(node) == node_state::up;
        });
        if (!job.over() && !can_answer) end_job(job, condition::stopped, "interrupted", now);
    }
}

void cluster_loop::end_job(live_job& job, condition how, std::string why, nanoseconds now) {
    jobs_.finish(job, how, std::move(why), now);
    events_.emit(job_ended{.job = job.config->name,
                           .incarnation = job.run.value,
                           .how = job.now,
                           .exit_code = {},
                           .signal = {},
                           .step = jobs_.progress_of(job).step,
                           .why = job.why,
                           .level_met = level_met_by(jobs_.progress_of(job))},
                 now);
}

void cluster_loop::restart_lost(nanoseconds now) {
    for (auto* const job : jobs_.release_lost(now)) {
        if (interrupted_) {
            end_job(*job, condition::stopped, "interrupted", now);
        } else if (jobs_.launches().of(cluster_jobs::number_of(*job)).has_failed_for_good()) {
            end_job(*job, condition::failed, job->why, now);
        } else {
            emit_failed_start(*job, now);
            auto why_it_waits = job->why.empty() ? std::string("for another node") : job->why;
            job->why.clear();
            set_condition(*job, condition::waiting, std::move(why_it_waits), now, events_);
        }
    }
}

/// A launch on several nodes that has not trained: the job returns to the devices on which it has.
void cluster_loop::emit_failed_start(live_job const& job, nanoseconds now) {
    auto const& launch = jobs_.launches().of(cluster_jobs::number_of(job));
    if (job.why.empty() || launch.has_trained) return;
    events_.emit(resize_changed{.job = job.config->name,
                                .incarnation = job.run.value,
                                .what = resize_step::failed,
                                .from = devices_in(launch.trained),
                                .to = devices_in(launch.layout),
                                .devices = {},
                                .why = job.why},
                 now);
}

/// A node that has come, or has come back, changes the capacity.
void cluster_loop::note_nodes() {
    std::size_t up = 0;
    for (std::size_t node = 0; node < nodes_.registry().size(); ++node)
        up += nodes_.registry().state(node) == node_state::up ? 1 : 0;
    if (std::exchange(nodes_up_, up) != up) jobs_.request_tick();
}

/// Time in which this process was suspended counts neither as silence of a node nor as a late start.
void cluster_loop::resume(nanoseconds now) {
    events_.emit(warning{"ration", "it was suspended, or its machine; its nodes get their whole time to answer again"},
                 now);
    jobs_.launches().resume(now);
    without_nodes_since_.reset();
}

/// Nodes that were lost may answer again.
void cluster_loop::await_any_node(nanoseconds now) {
    if (is_any_there(nodes_.registry())) return without_nodes_since_.reset();
    if (!may_any_return(nodes_.registry())) return end_all("no node is left", now);
    auto const wait = duration_text(node_wait_);
    if (!without_nodes_since_) {
        without_nodes_since_ = now;
        events_.emit(
            warning{"nodes", fmt::format("none answers; the jobs wait for one for {}, as --node-wait allows", wait)},
            now);
    }
    if (now - *without_nodes_since_ >= node_wait_) end_all(fmt::format("no node has answered for {}", wait), now);
}

void cluster_loop::end_all(std::string const& why, nanoseconds now) {
    for (auto& job : jobs_.table().jobs()) {
        if (job.over()) continue;
        end_job(job, interrupted_ ? condition::stopped : condition::failed, interrupted_ ? "interrupted" : why, now);
    }
}

void cluster_loop::tick(nanoseconds now) {
    next_tick_ = now + config_.tick;
    if (!policy_.replaced() && is_quarantined(policy_.chosen())) policy_.replace();
    for (auto const& job : std::as_const(jobs_).table().jobs()) update_level(job, jobs_.progress_of(job), events_, now);
    auto const report = jobs_.tick(now, events_);
    if (!policy_.replaced() && is_quarantined(policy_.chosen())) jobs_.request_tick();
    nanoseconds const took = clock_.now() - now;
    ticks_.emit_policy_log(now);
    ticks_.emit(report, jobs_.published(), took);
}

void cluster_loop::send(nanoseconds now) {
    auto& launches = jobs_.launches();
    if (!interrupted_)
        for (auto& job : jobs_.table().jobs())
            if (launches.advance(job, now)) ++job.run.value;
    auto const part = [&](std::size_t number, std::size_t node) {
        auto const& job = std::as_const(jobs_).table().job({number + 1});
        return launches.part(number, node, job.config->name, job.run.value);
    };
    record_.save_changes(now);
    nodes_.send(part, std::as_const(jobs_).table().jobs().size(), now);
}

view_model cluster_loop::view(nanoseconds now) const {
    view_model model{
        .policy = planned_.choice.label, .backend = "nodes", .elapsed = now, .jobs = {}, .notice = notice_};
    for (std::size_t node = 0; node < nodes_.registry().size(); ++node) {
        model.cpus += static_cast<std::uint32_t>(nodes_.facts(node).cpu / 1000);
        model.devices += nodes_.devices(node);
    }
    for (auto const& job : std::as_const(jobs_).table().jobs()) {
        auto v = view_of(job, jobs_.progress_of(job), now);
        if (!job.over()) {
            auto const number = cluster_jobs::number_of(job);
            v.devices = jobs_.launches().of(number).devices();
            v.going_to = jobs_.launches().granted_to(number);
            model.devices_held += *v.devices;
        }
        model.jobs.push_back(std::move(v));
    }
    return model;
}

run_summary cluster_loop::summary(nanoseconds now) const {
    run_summary total{.policy = planned_.choice.policy,
                      .label = planned_.choice.label,
                      .jobs = {},
                      .makespan = {},
                      .approximate = {},
                      .interrupted = interrupted_,
                      .lost_events = out_.lost()};
    for (auto const& job : std::as_const(jobs_).table().jobs()) {
        auto ended = summary_of(job, jobs_.progress_of(job));
        ended.device_seconds = jobs_.launches().of(cluster_jobs::number_of(job)).attained();
        total.jobs.push_back(std::move(ended));
        total.makespan = std::max(total.makespan, job.ended_at.value_or(now));
    }
    return total;
}

}  // namespace ration::program
