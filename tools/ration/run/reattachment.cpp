// SPDX-License-Identifier: BSL-1.0
#include "run/reattachment.hpp"

#include <algorithm>
#include <csignal>
#include <fmt/core.h>
#include <utility>

#include <ration/process/environment.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::optional<nanoseconds> time_of(std::int64_t recorded) noexcept {
    return recorded > 0 ? std::optional(nanoseconds{recorded}) : std::nullopt;
}

}  // namespace

void reattachment::reattach(orphaned_run const& run, nanoseconds now) {
    record_.suspend();
    jobs_.arrive(now);
    for (std::size_t i = 0; i < run.record.jobs.size(); ++i) {
        auto const& recorded = run.record.jobs[i];
        auto const at =
            std::ranges::find(jobs_.jobs(), recorded.name, [](live_job const& job) { return job.config->name; });
        if (at != jobs_.jobs().end()) reattach_job(*at, recorded, run.traces[i], now);
    }
    record_.resume();
}

void reattachment::reattach_job(live_job& job, recorded_job const& recorded, job_traces const& traces,
                                nanoseconds now) {
    job.run.value = recorded.incarnation;
    if (!traces.has_first) end_remaining(job, recorded, traces, now);
    if (auto const strays = end_strays(traces); !strays.empty())
        events_.warn_once(job.config->name, "ended " + strays, now);
    // The intent was recorded, and no launch followed
    if (job.devices == nullptr && recorded.launching && !traces.launched) {
        job.run.value -= 1;
        return;
    }
    job.started_at = job.launched_at = std::min(nanoseconds{recorded.started_ns}, now);
    job.token = std::string_view(recorded.token);
    progress_.restore_tiers(job, time_of(recorded.acceptable_ns), time_of(recorded.objective_ns));
    if (job.devices != nullptr && !recorded.is_over()) return reattach_devices(job, recorded, traces, now);
    if (recorded.is_over()) {
        job.ended_at = time_of(recorded.ended_ns).value_or(now);
        bool const known = recorded.how && is_over(*recorded.how);
        return set_condition(job, known ? *recorded.how : condition::failed, recorded.why, now, events_);
    }
    if (!traces.has_first || !reattach_process(job, recorded, now)) {
        if (auto const end = source_.end_of(job)) return reaper_.take_exit(job, *end, now);
        job.ended_at = now;
        return set_condition(job, condition::failed, ended_unseen, now, events_);
    }
    set_condition(job, condition::running, "", now, events_);
    events_.print(fmt::format("{}: taken over from an earlier run (process {})", job.config->name, job.child().pid()));
}

/// Ends what a first process that has ended, or was never recorded, has left running.
void reattachment::end_remaining(live_job const& job, recorded_job const& recorded, job_traces const& traces,
                                 nanoseconds now) {
    if (traces.processes.empty()) return;
    events_.warn_once(job.config->name, fmt::format("ended {} running", text_of(traces)), now);
    for (auto const& one : traces.processes)  // one in the job's group may lack the token
        if (auto held = process::attach(one.pid, one.start_time); held) static_cast<void>(held->signal(SIGKILL));
    if (auto const gone = process::kill_marked(process::mark_of(recorded.token)); !gone)
        events_.warn_once(job.config->name, to_text(gone.failure()), now);
}

result<void> reattachment::reattach_process(live_job& job, recorded_job const& recorded, nanoseconds now) {
    auto attached = process::attach(recorded.pid, recorded.start_time);
    if (!attached) return attached.failure();
    if (auto known = progress_.start_incarnation(job); !known) return known;
    auto const holds = numbers_of(recorded.holds, now);
    if (auto placed = node_.reattach({.job = job.id,
                                      .name = job.config->name,
                                      .token = recorded.token,
                                      .memory = {},
                                      .gpus = assigner_.filter_of(job, holds),
                                      .gpu_memory = assigner_.gpu_memory_of(job, holds)},
                                     *attached);
        !placed)
        return placed;
    assigner_.warn_of_missing_limits(job, now);
    job.placed = true;
    job.process = std::move(attached).value();
    progress_.follow_metrics(job, metric_file::existing_rows::read);
    progress_.follow_output(job, launcher_.output_of(job), now);
    return {};
}

/// A device of the record that this run does not share is left as soon as possible.
device_list reattachment::numbers_of(std::vector<std::string> const& recorded, nanoseconds now) {
    device_list out;
    auto& table = elastic_.table();
    for (auto const& name : recorded) {
        auto const known = table.devices().size();
        out.push_back(table.devices().number(name));
        if (table.devices().size() > known)
            events_.emit(
                device_changed{.device = name, .what = device_change::cordoned, .why = "this run does not share it"},
                now);
    }
    return out;
}

resize_record reattachment::resize_of(recorded_job const& recorded, nanoseconds now) {
    return {.now = recorded.phase.value_or(resize_phase::steady),
            .wanted = recorded.wanted,
            .holds = numbers_of(recorded.holds, now),
            .next = numbers_of(recorded.next, now),
            .origin = numbers_of(recorded.origin, now),
            .falls_back = recorded.falls_back,
            .returning = recorded.returning,
            .control = !recorded.control.empty(),
            .has_saved = recorded.has_saved,
            .finishing = recorded.finishing,
            .cost = recorded.cost,
            .batch = recorded.batch};
}

void reattachment::cap_cpu(live_job const& job, std::size_t devices, nanoseconds now) {
    auto const cpu = assigner_.cpu_of(devices);
    if (!cpu) return;
    if (auto const capped = node_.cap_cpu(job.id, *cpu); !capped)
        events_.warn_once(job.config->name, to_text(capped.failure()), now);
}

/// Ends a job whose process has ended meanwhile. False: it is launched again, or was between two launches.
bool reattachment::end_dead(live_job& job, resize_record const& from, nanoseconds now) {
    bool const ran =
        from.now == resize_phase::steady || from.now == resize_phase::starting || from.now == resize_phase::saving;
    if (!ran) return false;
    auto const end = source_.end_of(job);
    bool const starts_again = from.has_saved || from.falls_back || from.returning || from.now == resize_phase::saving;
    if (starts_again && !(end && end->success())) return false;
    end ? reaper_.take_recorded_exit(job, *end, now) : reaper_.finish(job, condition::failed, ended_unseen, {}, now);
    return true;
}

void reattachment::reattach_devices(live_job& job, recorded_job const& recorded, job_traces const& traces,
                                    nanoseconds now) {
    auto const from = resize_of(recorded, now);
    commands_.set_address(job, recorded.control);
    job.checkpoint = recorded.checkpoint;
    job.batch = recorded.launched_batch;
    // Another group may bind it to other CPUs
    auto const bound = process::cpu_set::of_thread(traces.has_first ? recorded.pid : 0);
    bool const alive = traces.has_first && reattach_process(job, recorded, now);
    if (alive) cap_cpu(job, from.holds.size(), now);
    bool const ours = job.devices->restore(from, alive, now);
    if (ours && alive) assigner_.reattach(job, bound, now);
    if (!ours) return reaper_.finish(job, condition::failed, "its devices are another job's", {}, now);
    if (!alive && traces.launched && end_dead(job, from, now)) return;
    if (from.finishing && !alive) return reaper_.finish(job, condition::finished, ended_unseen, {}, now);
    scheduler_.set_held({job.id, 0, resource_id::gpu, job.devices->state().devices.wanted()}, now);
    if (from.batch != 0) scheduler_.set_held({job.id, 0, resource_id::batch, from.batch}, now);
    bool const restarting = !alive || job.devices->state().is_restarting();
    if (from.now != resize_phase::queued)
        set_condition(job, restarting ? condition::restarting : condition::running, "", now, events_);
    events_.print(fmt::format("{}: taken over from an earlier run ({})", job.config->name,
                              alive ? fmt::format("process {}", job.child().pid()) : "between two launches"));
}

}  // namespace ration::program
