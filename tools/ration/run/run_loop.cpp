// SPDX-License-Identifier: BSL-1.0
#include "run/run_loop.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>
#include <vector>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

/// The output of jobs without a protocol is read this often.
constexpr nanoseconds output_interval = milliseconds(100);
/// A live view should move.
constexpr nanoseconds longest_wait = milliseconds(250);

}  // namespace

run_summary run_loop::run() {
    while (!all_over()) {
        admit(c_.clock.now());
        start_due_jobs(c_.clock.now());
        wait(c_.clock.now());
        nanoseconds const now = c_.clock.now();
        c_.node.jobs().run_due(process::now());
        read_progress(now);
        c_.gpus.probe(now);
        reap(now);
        handle_signals(now);
        c_.stopper.keep_deadlines(now);
        c_.resizes.advance(now);
        c_.models.advance(now);
        c_.hooks.advance(now);
        c_.tick_events.emit_policy_log(now);
        if (c_.ticks.timer().is_due(now)) tick(now);
        if (c_.items != nullptr) c_.items->advance(now);
        keep_tiers(now);
        take_turn(now);
        c_.status.show(notice_, now);
    }
    nanoseconds const now = c_.clock.now();
    auto const total = c_.status.summary(interrupted_, now);
    c_.out.emit({now, run_ended{total}});
    c_.status.show_end(notice_, now);
    return total;
}

bool run_loop::all_over() const noexcept {
    return c_.source.complete() && c_.hooks.idle() && c_.models.idle() &&
           std::ranges::all_of(std::as_const(c_.jobs).jobs(), [](live_job const& job) { return job.over(); });
}

void run_loop::admit(nanoseconds now) {
    if (interrupted_) return;
    for (auto& [config, incarnations] : c_.source.admit(c_.jobs.free_slots(), now)) {
        auto& job = c_.jobs.add(std::move(config), incarnations);
        c_.assigner.add(job);
        c_.progress.add(job);
    }
}

void run_loop::start_due_jobs(nanoseconds now) {
    if (interrupted_) return;
    if (c_.jobs.arrive(now)) c_.ticks.request_tick();
    for (auto& job : c_.jobs.jobs()) {
        // Jobs with devices start when they get some
        if (!job.waiting() || !c_.jobs.arrived(job) || job.devices != nullptr) continue;
        if (c_.launcher.is_due(job, now) && c_.source.may_launch(job)) start(job, now);
    }
}

void run_loop::start(live_job& job, nanoseconds now) {
    auto const launched = c_.launcher.launch(job, now);
    if (!launched && job.failed_by_host && c_.source.waits_for_machine(job))
        c_.launcher.postpone(job, launched.failure(), now);
    else if (!launched)
        c_.reaper.fail_start(job, to_text(launched.failure()), now);
    else if (!job.config->log.empty() || job.config->metrics)
        c_.stopper.warn_if_it_trains_on(job, now);
}

void run_loop::wait(nanoseconds now) {
    nanoseconds until = std::min(c_.ticks.timer().next(), now + longest_wait);
    std::vector<pollfd> fds{{c_.signals.fd(), POLLIN, 0}};
    until = std::min(until, c_.progress.join(fds, now));
    for (auto const& job : c_.jobs.jobs()) {
        if (job.alive() && !job.child().ended()) fds.push_back({job.child().pidfd(), POLLIN, 0});
        if (job.waiting() && !c_.jobs.arrived(job)) until = std::min(until, job.config->at);
        if (auto const deadline = c_.resizes.next_deadline(job)) until = std::min(until, *deadline);
        if (auto const look = c_.reaper.next_look(job); job.alive() && look > nanoseconds{})
            until = std::min(until, std::max(now, look));
        if (job.alive() && c_.progress.reads_output_of(job)) until = std::min(until, now + output_interval);
    }
    c_.models.join(fds);
    if (c_.gpus.fd() >= 0) fds.push_back({c_.gpus.fd(), POLLIN, 0});
    auto wake = std::min(c_.clock.began + until, c_.source.join(fds));  // from here on CLOCK_MONOTONIC
    if (auto const* const metrics = c_.out.metrics()) wake = std::min(wake, metrics->join(fds));
    keep_limits_until(wake, fds);
}

/// Waits for a descriptor, too. Limits of the process backend are due up to every 20 ms, when nothing else is.
void run_loop::keep_limits_until(nanoseconds wake, std::vector<pollfd>& fds) {
    for (;;) {
        auto const now = process::now();
        auto const left = std::max<std::int64_t>(0, (std::min(wake, c_.node.jobs().next_wakeup()) - now).count);
        timespec const timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
        bool const timed_out = ::ppoll(fds.data(), fds.size(), &timeout, nullptr) == 0;
        if (!timed_out || process::now() >= wake) return;
        c_.node.jobs().run_due(process::now());
    }
}

void run_loop::read_progress(nanoseconds now) {
    c_.progress.read(now, [&](progress::update const& reply) { handle(reply, now); });
}

void run_loop::handle(progress::update const& reply, nanoseconds now) {
    auto& job = c_.jobs.job(reply.job);
    auto const& body = reply.body;
    if (job.over()) return;
    c_.health.handle(job, reply, now);
    if (body.type == progress::message_type::hello && reply.rank == 0) {
        c_.commands.set_address(job, std::string(body.control));
        c_.stopper.warn_if_it_trains_on(job, now);
    }
    c_.source.handle(job, body);
    c_.stopper.handle(job, body, now);
    c_.models.handle(job, body, now);
    if (job.devices != nullptr) c_.resizes.handle(job, reply, now);
    bool const new_tier = c_.progress.take(job, reply, now);
    if (body.non_finite > 0 || body.type == progress::message_type::bye) c_.health.classify(now);
    if (new_tier) handle_tier(job, now);
}

void run_loop::handle_tier(live_job& job, nanoseconds now) {
    auto const& progress = c_.progress.of(job);
    c_.ticks.request_tick();
    c_.models.handle_tier(job, progress.step);
    c_.progress.emit_tier(job, now);
    reached_.push_back(job.id);
    if (progress.tier() < two_tier_target::objective_tier) return;
    if (c_.stopper.may_end_at_objective(job))
        c_.node.may_end(job.id);
    else
        job.trains_on = true;
}

/// After the tick, because the record waits for the disk, which new limits need not. Before the commands of the tiers,
/// so that a later start does not run them again.
void run_loop::keep_tiers(nanoseconds now) {
    if (reached_.empty()) return;
    c_.record.save();
    for (auto const id : std::exchange(reached_, {})) {
        auto const& job = c_.jobs.job(id);
        if (job.config->target.acceptable) c_.hooks.run(job, hook::acceptable, now);
        if (c_.progress.of(job).tier() >= two_tier_target::objective_tier) c_.hooks.run(job, hook::objective, now);
    }
}

void run_loop::reap(nanoseconds now) {
    std::vector<live_job*> ended;
    for (auto& job : c_.jobs.jobs()) {
        if (!job.alive() || !job.child().try_wait()) continue;
        ended.push_back(&job);
        c_.progress.process_ended(job, now);
    }
    if (!ended.empty()) read_progress(now);  // their last reports, before their groups are gone
    for (auto* const job : ended) {
        if (!job->alive() || c_.progress.is_read_at_end(*job, now)) continue;
        auto how = *job->child().try_wait();
        if (how.how == process::exit_report::kind::unknown) how = c_.source.end_of(*job).value_or(how);
        c_.progress.finish(*job, how, now, [&](progress::update const& reply) { handle(reply, now); });
        keep_tiers(now);
        c_.reaper.take_exit(*job, how, now);
    }
}

void run_loop::handle_signals(nanoseconds now) {
    int const received = c_.signals.read();
    if (received == 0) return;
    c_.source.interrupted();
    bool const first = !std::exchange(interrupted_, true);
    interrupt_jobs(first, received > 1, now);
    if (first) c_.resizes.advance(now);
    notice_ = "stopping the jobs; Ctrl-C again kills them";
    if (first) c_.out.print(notice_);
}

void run_loop::interrupt_jobs(bool first, bool kill, nanoseconds now) {
    if (kill) c_.models.kill_copies();
    for (auto& job : c_.jobs.jobs()) {
        if (!job.alive() && !job.over()) c_.reaper.interrupt(job, now);
        if (job.alive() && first) c_.stopper.ask_to_stop(job, stop_reason::interrupted, now);
        if (job.alive() && kill) c_.stopper.kill_soon(job, now);
    }
}

void run_loop::stop(live_job& job, nanoseconds now) {
    if (job.alive())
        c_.stopper.ask_to_stop(job, stop_reason::interrupted, now);
    else if (!job.over())
        c_.reaper.interrupt(job, now);
}

void run_loop::terminate(live_job& job, nanoseconds now) {
    if (job.alive())
        c_.stopper.stop_at_once(job, stop_reason::interrupted, now);
    else if (!job.over())
        c_.reaper.interrupt(job, now);
}

void run_loop::take_turn(nanoseconds now) {
    auto const exchange = [&](policy_change& next) { return c_.change_policy(next, now); };
    auto orders = c_.source.take_turn(c_.jobs, c_.progress.all(), exchange, c_.hooks.room(), now);
    for (auto const id : orders.stop) stop(c_.jobs.job(id), now);
    for (auto const id : orders.terminate) terminate(c_.jobs.job(id), now);
    for (auto const id : orders.kill) c_.stopper.kill_soon(c_.jobs.job(id), now);
    if (orders.tick) c_.ticks.request_tick();
    for (auto& call : orders.hooks) c_.hooks.start(std::move(call), now);
    for (auto const id : orders.forget) {
        auto& job = c_.jobs.job(id);
        c_.usage.forget(job);
        c_.events.forget(job.config->name);
        c_.assigner.remove(job);
        c_.jobs.forget(job);
    }
    if (!orders.forget.empty()) c_.record.save();
}

void run_loop::tick(nanoseconds now) {
    c_.ticks.start_tick(now);
    for (auto const& job : std::as_const(c_.jobs).jobs()) c_.progress.update_level(job, now);
    c_.health.observe(now);
    c_.health.classify(now);
    auto const report = c_.ticks.tick(now, c_.progress.all(), c_.health.observations(), c_.elastic.usable());
    nanoseconds const took = c_.clock.now() - now;
    c_.tick_events.emit_policy_log(now);  // what it logged before its answer
    c_.tick_events.emit(report, c_.ticks.published(), took);
    handle_changes(report);
    stop_released(report);
    c_.resizes.advance(now);
}

void run_loop::handle_changes(tick_report const& report) {
    for (auto const& change : report.changes) {
        auto& job = c_.jobs.job(change.grant.job);
        c_.source.handle_change(job, c_.tick_events.reason(change.grant));
        bool const sizes_it =
            change.grant.resource() == resource_id::gpu || change.grant.resource() == resource_id::batch;
        if (!sizes_it || c_.node.ends(job.id)) handle_change(job, change.grant, report.now);
    }
}

void run_loop::handle_change(live_job& job, checked_grant const& grant, nanoseconds now) {
    if (grant.amount() != 0)
        c_.health.resume(job, now);
    else if (c_.node.ends(job.id))
        c_.stopper.ask_to_stop(job, stop_reason::objective_reached, now);
    else
        c_.health.suspend(job, now);
}

/// A job that reaches its Objective before its first limit holds nothing yet, so that its release is not a change.
void run_loop::stop_released(tick_report const& report) {
    auto const ids = std::as_const(c_.jobs).store()[c_.jobs.columns().id];
    for (auto const& g : report.grants) {
        if (g.amount != 0 || g.resource != static_cast<std::uint16_t>(resource_id::cpu) || g.job >= ids.size())
            continue;
        auto& job = c_.jobs.job({ids[g.job]});
        if (job.alive() && c_.node.ends(job.id))
            c_.stopper.ask_to_stop(job, stop_reason::objective_reached, report.now);
    }
}

}  // namespace ration::program
