// SPDX-License-Identifier: BSL-1.0
// The loop, and what comes in. Jobs are started and ended in supervisor_jobs.cpp; ticks are in supervisor_tick.cpp.
#include "run/supervisor.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <poll.h>

namespace ration::program {
namespace {

/// The output of jobs without a protocol is read this often.
constexpr nanoseconds output_interval = milliseconds(100);
/// A live view should move.
constexpr nanoseconds longest_wait = milliseconds(250);

[[nodiscard]] bytes memory_of_machine() {
    return {static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)};
}

[[nodiscard]] host_supply supply_of(run_parts const& parts) {
    host_supply out{.cpu = parts.node.capacity(), .memory = memory_of_machine()};
    if (parts.config.shares_devices()) out.devices = static_cast<std::int64_t>(parts.devices.names().size());
    return out;
}

/// CLOCK_MONOTONIC at the start of the run, of an reattached one as its record has it.
[[nodiscard]] nanoseconds start_of(orphaned_run const* reattached) {
    auto const now = process::now();
    return reattached != nullptr
               ? std::min(nanoseconds{reattached->record.written_ns - reattached->record.clock_ns}, now)
               : now;
}

}  // namespace

supervisor::supervisor(run_parts const& parts, progress::receiver receiver)
    : parts_(parts), began_(start_of(parts.reattached)), receiver_(std::move(receiver)),
      elastic_(parts.devices.names()),
      placement_(device_placement::of(parts.topology, parts.devices.pci(), parts.node.cpus())),
      board_(parts.config.jobs, supply_of(parts)), shown_(parts.policy),
      engine_(parts.node, shown_, fallback_, board_.store(), board_.columns(), host_resources(board_.shares_devices()),
              {}),
      spare_(parts.node.cpus()) {
    open_control();
    if (board_.shares_devices()) {
        share_devices();
        watch_over_gpus(clock());
    }
}

nanoseconds supervisor::clock() const noexcept { return process::now() - began_; }

result<run_summary> supervisor::run() {
    if (auto bound = engine_.bind({.jobs = parts_.config.jobs.size(), .nodes = 1}); !bound) return bound.failure();
    announce(clock());
    if (parts_.reattached != nullptr) reattach_run(*parts_.reattached);
    while (!all_over()) {
        start_due_jobs(clock());
        wait(clock());
        nanoseconds const now = clock();
        parts_.node.run_due(process::now());
        read_progress(now);
        read_outputs(now);
        probe_gpus(now);
        reap(now);
        heed_signals(now);
        keep_deadlines(now);
        work_on_devices(now);
        work_on_deliveries(now);
        emit_policy_log(now);
        if (news_ || now >= next_tick_) tick(now);
        parts_.out.show(view(now), now);
        parts_.out.flush(now);
        if (auto* const metrics = parts_.out.metrics())
            metrics->serve({board_, receiver_.counts(), parts_.out.lost(), elastic_.table().cordoned()});
    }
    nanoseconds const now = clock();
    auto const total = summary(now);
    emit(run_ended{total}, now);
    parts_.out.end_of_run(view(now), now);
    return total;
}

bool supervisor::all_over() const noexcept {
    return std::ranges::all_of(board_.jobs(), [](live_job const& job) { return job.over(); });
}

void supervisor::wait(nanoseconds now) {
    nanoseconds until = std::min(next_tick_, now + longest_wait);
    std::vector<pollfd> fds{{receiver_.fd(), POLLIN, 0}, {parts_.signals.fd(), POLLIN, 0}};
    for (auto const& job : board_.jobs()) {
        if (job.alive() && !job.process->ended()) fds.push_back({job.process->pidfd(), POLLIN, 0});
        if (job.waiting() && !board_.arrived(job)) until = std::min(until, job.config->at);
        if (job.devices != nullptr)
            if (auto const deadline = job.devices->next_deadline())
                until = std::min(until, std::max(*deadline, job.clear_at));
        if (job.alive() && job.adapter) until = std::min(until, now + output_interval);
    }
    if (gpus_) fds.push_back({gpus_->fd(), POLLIN, 0});
    // Which may be never: from here on CLOCK_MONOTONIC
    auto wake = std::min(began_ + until, parts_.node.next_wakeup());
    if (auto const* const metrics = parts_.out.metrics()) wake = std::min(wake, metrics->join(fds));
    auto const left = std::max<std::int64_t>(0, (wake - began_ - now).count);
    timespec const timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

void supervisor::read_progress(nanoseconds now) {
    auto const belongs = [this](job_id id, pid_t pid) {
        // Its first process may have ended, and left its place, before anybody came to read what it said.
        auto const& job = board_.job(id);
        return (job.alive() && job.process->pid() == pid) || parts_.node.may_report(id, pid);
    };
    auto const drained = receiver_.drain(now, belongs, [&](progress::update const& reply) { handle(reply, now); });
    if (!drained)
        warn_once("progress", fmt::format("{}: {}", drained.failure().operation, name_of(drained.failure().code)), now);
    auto const& counts = receiver_.counts();
    if (counts.wrong_token + counts.wrong_uid + counts.wrong_process + counts.malformed > 0)
        warn_once(
            "progress",
            "messages came that are not the jobs' own (wrong token, user, process or form); they are counted and dropped",
            now);
}

void supervisor::read_outputs(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.adapter || job.waiting()) continue;
        for (auto text = job.output.read(); !text.empty(); text = job.output.read())
            job.adapter->feed(text, [&](progress::update const& reply) { handle(reply, now); });
    }
}

void supervisor::handle(progress::update const& reply, nanoseconds now) {
    auto& job = board_.job(reply.job);
    if (job.over()) return;
    job.health.handle(now, reply);
    job.reported_done =
        job.reported_done || (reply.body.type == progress::message_type::bye && reply.body.why == "done");
    if (reply.body.type == progress::message_type::hello && reply.rank == 0) job.control = reply.body.control;
    handle_stop(job, reply, now);
    handle_model(job, reply, now);
    if (job.devices != nullptr) handle_devices(job, reply, now);
    bool const is_value =
        reply.body.type == progress::message_type::step || reply.body.type == progress::message_type::eval;
    bool const new_tier = job.take(reply.body, now);
    if (is_value) {
        bool const is_step = reply.body.type == progress::message_type::step;
        emit(job_progress{.job = job.config->name,
                          .incarnation = reply.run.value,
                          .step = job.step,
                          .metric = is_step ? std::string_view("loss") : reply.body.metric,
                          .value = is_step ? reply.body.loss_mean : reply.body.value,
                          .count = is_step ? reply.body.loss_count : 1,
                          .smoothed = job.tracker.smoothed()},
             now);
    }
    if (reply.body.non_finite > 0 || reply.body.type == progress::message_type::bye) classify_health(now);
    if (!new_tier) return;
    news_ = true;
    if (job.config->saves_at_acceptable && job.model.now == delivery::phase::none)
        job.model = {.now = delivery::phase::wanted, .from = job.step, .command = 0, .deadline = {}};
    emit(tier_reached{.job = job.config->name,
                      .tier = job.tracker.tier(),
                      .step = job.step,
                      .value = job.tracker.smoothed().value_or(0),
                      .after = now - job.config->at},
         now);
    if (job.tracker.tier() >= two_tier_target::objective_tier) parts_.node.may_end(job.id);
}

void supervisor::reap(nanoseconds now) {
    for (auto& job : board_.jobs())
        if (job.alive())
            if (auto const how = job.process->try_wait()) {
                read_progress(now);  // its last words, before its place is gone
                read_outputs(now);
                if (waits_for_probe(job, *how, now)) continue;
                bool const over = job.devices == nullptr || job.devices->exited(how->success(), job.reported_done,
                                                                                now) == exit_meaning::job_is_over;
                job.cpu_time = std::max(job.cpu_time, how->cpu_time);
                over ? end(job, *how, now) : end_incarnation(job, now);
            }
}

void supervisor::heed_signals(nanoseconds now) {
    int const received = parts_.signals.read();
    if (received == 0) return;
    bool const first = !interrupted_;
    interrupted_ = true;
    for (auto& job : board_.jobs()) {
        if (!job.alive() && !job.over()) stop_without_process(job, now);
        if (job.alive() && first) ask_to_stop(job, stop_reason::interrupted, now);
        if (job.alive() && received > 1) job.kill_at = now;
    }
    if (first) work_on_devices(now);
    notice_ = "stopping the jobs; Ctrl-C again kills them";
    if (first) parts_.out.print(notice_);
}

void supervisor::warn_once(std::string_view subject, std::string sentence, nanoseconds now) {
    std::string key = fmt::format("{}: {}", subject, sentence);
    if (std::ranges::find(message_, key) != message_.end()) return;
    message_.push_back(std::move(key));
    emit(warning{subject, sentence}, now);
}

view_model supervisor::view(nanoseconds now) const {
    view_model model{.policy = parts_.policy_name,
                     .backend = parts_.node.name(),
                     .elapsed = now,
                     .cpus = static_cast<std::uint32_t>(parts_.node.capacity().count / 1000),
                     .used = cpu_of_all_.per_second() * 1e-9,
                     .devices = static_cast<std::int64_t>(elastic_.table().size()),
                     .devices_held = elastic_.table().held(),
                     .cordoned_devices = elastic_.table().cordoned(),
                     .jobs = {},
                     .notice = notice_};
    for (auto const& job : board_.jobs()) {
        auto& shown = model.jobs.emplace_back(job.view(now));
        if (auto const held = board_.held_cpu(job); job.alive() && held != 0) shown.held = millicores{held};
        if (job.alive()) shown.used = board_.used_cores(job);
    }
    return model;
}

run_summary supervisor::summary(nanoseconds now) const {
    run_summary total{.policy = parts_.policy_name,
                      .jobs = {},
                      .makespan = {},
                      .approximate = parts_.node.approximations(),
                      .interrupted = interrupted_,
                      .lost_events = parts_.out.lost()};
    nanoseconds used{};
    for (auto const& job : board_.jobs()) {
        total.jobs.push_back(job.summary());
        total.makespan = std::max(total.makespan, job.ended_at.value_or(now));
        used = used + job.earlier_cpu_time + job.cpu_time;
    }
    total.mean_cpu = total.makespan.count > 0 ? to_seconds(used) / to_seconds(total.makespan) : 0;
    return total;
}

}  // namespace ration::program
