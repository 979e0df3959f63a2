// SPDX-License-Identifier: BSL-1.0
#include "run/job_reaper.hpp"

#include <fmt/core.h>
#include <utility>

#include <ration/process/environment.hpp>

#include "common/error_text.hpp"

namespace ration::program {

void job_reaper::take_exit(live_job& job, process::exit_report const& how, nanoseconds now) {
    auto& verdict = verdicts_[job];
    if (!verdict) {
        if (waits_for_probe(job, how, now)) return;
        bool const over = job.devices == nullptr || job.devices->exited(how.success(), progress_.said_done(job), now) ==
                                                        exit_meaning::job_is_over;
        usage_.take_final(job, how.cpu_time);
        if (!over) return end_incarnation(job, now);
        if (job.devices != nullptr) job.devices->finish();  // no launch follows while others are left
        verdict = exits_.classify(job, how, now);
    }
    if (background_.is_ending(job, now)) return;
    measure_last(job);
    finish(job, verdict->how, std::move(verdict->why), how, now);
}

/// The failure of a job may be that of a GPU, which only a probe from then on can show.
bool job_reaper::waits_for_probe(live_job const& job, process::exit_report const& how, nanoseconds now) {
    return job.devices != nullptr && !how.success() && job.devices->state().outlives_a_device() &&
           !gpus_.has_probed(job, now);
}

void job_reaper::measure_last(live_job const& job) {
    if (auto const seen = node_.observe(job.id)) usage_.take_final(job, seen->cpu_time);
}

/// Another process follows, at once or when there are devices.
void job_reaper::end_incarnation(live_job& job, nanoseconds now) {
    measure_last(job);
    usage_.start_incarnation(job);
    job.process.reset();
    stopper_.end_incarnation(job);
    commands_.set_address(job, {});
    progress_.end_incarnation(job, now);
    gpus_.forget_probe(job);
    scheduler_.request_tick();
    set_condition(job, condition::restarting, "", now, events_);
}

void job_reaper::take_recorded_exit(live_job& job, process::exit_report const& how, nanoseconds now) {
    auto verdict = exits_.classify(job, how, now);
    finish(job, verdict.how, std::move(verdict.why), how, now);
}

void job_reaper::finish(live_job& job, condition how, std::string why, process::exit_report const& report,
                        nanoseconds now) {
    using exit_kind = process::exit_report::kind;
    leave_place(job, now);
    models_.warn_if_missing(job, now);
    if (auto const rest = background_.sentence(job); !rest.empty()) why += (why.empty() ? "" : "; ") + rest;
    background_.forget(job);
    gpus_.forget_probe(job);  // it was for another question
    if (job.devices != nullptr) job.devices->ended(gpus_.has_left_devices(job, now), now);
    servers_.end(job, now);
    scheduler_.release(job.id);
    // A failure has a better reason, and its last line of output
    if (auto const unread = progress_.unread_output(job); !unread.empty() && how != condition::failed)
        why += (why.empty() ? "" : "; ") + unread;
    progress_.update_level(job, now);
    progress_.forget(job);
    scheduler_.request_tick();
    job.ended_at = now;
    job.now = how;
    job.why = std::move(why);
    events_.emit(job_ended{.job = job.config->name,
                           .incarnation = job.run.value,
                           .how = how,
                           .exit_code = report.how == exit_kind::exited ? std::optional(report.number) : std::nullopt,
                           .signal = report.how == exit_kind::killed ? std::optional(report.number) : std::nullopt,
                           .step = progress_.of(job).step,
                           .why = job.why,
                           .level_met = level_met_by(progress_.of(job))},
                 now);
    record_.save();
    run_hooks(job, now);
}

void job_reaper::run_hooks(live_job const& job, nanoseconds now) {
    hooks_.run(job, hook::end, now);
    if (job.now == condition::failed || job.now == condition::diverged) hooks_.run(job, hook::failure, now);
}

void job_reaper::fail_start(live_job& job, std::string why, nanoseconds now) {
    job.ended_at = now;
    set_condition(job, condition::failed, std::move(why), now, events_);
    events_.emit(job_ended{.job = job.config->name,
                           .incarnation = job.run.value,
                           .how = job.now,
                           .exit_code = {},
                           .signal = {},
                           .why = job.why},
                 now);
    record_.save();  // without it a later run would start the job
    run_hooks(job, now);
}

void job_reaper::interrupt(live_job& job, nanoseconds now) {
    if (job.run.value != 0) return finish(job, condition::stopped, "interrupted", {}, now);
    if (job.devices != nullptr) job.devices->ended(true, now);
    set_condition(job, condition::stopped, "interrupted before its start", now, events_);
}

void job_reaper::clear_place(live_job& job, nanoseconds now) {
    if (job.placed && background_.is_ending(job, now)) return;
    background_.forget(job);
    leave_place(job, now);
}

void job_reaper::leave_place(live_job& job, nanoseconds now) {
    if (!job.placed) return;
    auto const removed = node_.remove(job.id);
    job.placed = !removed && removed.failure().code != errc::not_found;
    if (!removed) events_.warn_once(job.config->name, to_text(removed.failure()), now);
    kill_strays(job, now);
}

/// Kills processes of a job that had left its group: they have its token in their environment.
void job_reaper::kill_strays(live_job const& job, nanoseconds now) {
    if (!node_.jobs().has_groups()) return;
    auto const mark = process::mark_of(job.token.view());
    auto const strays = process::find_marked(mark);
    if (!strays || strays->empty()) return;
    events_.warn_once(job.config->name,
                      fmt::format("{} of its processes had left its cgroup; they are killed", strays->size()), now);
    if (auto const killed = process::kill_marked(mark); !killed)
        events_.warn_once(job.config->name, to_text(killed.failure()), now);
}

}  // namespace ration::program
