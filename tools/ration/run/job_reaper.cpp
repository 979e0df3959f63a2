// SPDX-License-Identifier: BSL-1.0
#include "run/job_reaper.hpp"

#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <utility>
#include <vector>

#include <ration/process/environment.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

using exit_kind = process::exit_report::kind;

[[nodiscard]] std::string sentence_of(process::exit_report const& how) {
    if (how.how == exit_kind::unknown) return "ended; how is not known, since an earlier ration started it";
    if (how.how == exit_kind::killed)
        return fmt::format("killed by signal {} ({})", how.number, ::strsignal(how.number));
    return how.number == 0 ? "" : fmt::format("exit code {}", how.number);
}

/// Whether it has ended as a program does that is told to: well, or by its signal, of which launchers make exit code
/// 128 + number.
[[nodiscard]] bool obeyed(process::exit_report const& how, int signal) noexcept {
    return how.how == exit_kind::unknown || how.success() ||
           how.number == (how.how == exit_kind::killed ? signal : 128 + signal);
}

/// As PyTorch can end when the interpreter does, after the whole script (pytorch#190489), or a shell around it.
[[nodiscard]] bool aborted(process::exit_report const& how) noexcept {
    return how.number == (how.how == exit_kind::killed ? SIGABRT : 128 + SIGABRT);
}

/// SIGTERM of a user who interrupts the run is not worth a reason.
[[nodiscard]] std::string sentence_of_stop(stop_reason reason, process::exit_report const& how, int signal,
                                           std::string const& trouble) {
    std::string const why(name_of(reason));
    return reason == stop_reason::interrupted || obeyed(how, signal) ? why : fmt::format("{}, then {}", why, trouble);
}

}  // namespace

void job_reaper::take_exit(live_job& job, process::exit_report const& how, nanoseconds now) {
    if (waits_for_probe(job, how, now)) return;
    bool const over = job.devices == nullptr ||
                      job.devices->exited(how.success(), progress_.said_done(job), now) == exit_meaning::job_is_over;
    usage_.take_final(job, how.cpu_time);
    over ? end_job(job, how, now) : end_incarnation(job, now);
}

/// The failure of a job may be that of a GPU, which only a probe from then on can show.
bool job_reaper::waits_for_probe(live_job const& job, process::exit_report const& how, nanoseconds now) {
    return job.devices != nullptr && !how.success() && job.devices->outlives_a_device() && !gpus_.has_probed(job, now);
}

void job_reaper::measure_last(live_job const& job) {
    if (auto const seen = node_.observe(job.id)) usage_.take_final(job, seen->cpu_time);
}

void job_reaper::end_job(live_job& job, process::exit_report const& how, nanoseconds now) {
    measure_last(job);
    condition state = condition::failed;
    std::string why = sentence_of(how);
    auto const trouble = trouble_of(job, how);
    if (job.now == condition::diverged || health_.has_diverged(job, now)) {
        state = condition::diverged;
        why = sentence_of_divergence(job);
    } else if (!stopper_.refusal(job).empty()) {
        why = stopper_.refusal(job);
    } else if (stopper_.is_stopping(job)) {
        auto const reason = stopper_.reason(job);
        state = reason == stop_reason::interrupted ? condition::stopped : condition::finished;
        why = sentence_of_stop(reason, how, job.config->stop_signal, trouble);
    } else if (how.success() || how.how == exit_kind::unknown) {
        state = condition::finished;
    } else if (progress_.said_done(job)) {
        if (aborted(how)) state = condition::finished;
        why = "it reported its end, then " + trouble;
    } else {
        why = trouble;
    }
    finish(job, state, std::move(why), how, now);
}

/// Why a process failed, with the last line that it printed. The kernel's SIGKILL for a lack of memory is not worth a
/// mention beside that lack.
std::string job_reaper::trouble_of(live_job const& job, process::exit_report const& how) {
    auto const shortage = node_.jobs().memory_shortage_of(job.id);
    bool const by_kernel = how.how == exit_kind::killed && how.number == SIGKILL && shortage.starts_with("out");
    std::string out = by_kernel ? shortage : sentence_of(how);
    if (!shortage.empty() && !by_kernel) out += "; " + shortage;
    auto const line = last_line(progress_.output_of(job));
    return line.empty() ? out : fmt::format("{}; its last line: {}", out, line);
}

/// Another process follows, at once or when there are devices.
void job_reaper::end_incarnation(live_job& job, nanoseconds now) {
    measure_last(job);
    usage_.start_incarnation(job);
    job.process.reset();
    stopper_.end_incarnation(job);
    commands_.set_address(job, {});
    progress_.end_incarnation(job);
    gpus_.forget_probe(job);
    scheduler_.request_tick();
    set_condition(job, condition::restarting, "", now, events_);
}

void job_reaper::finish(live_job& job, condition how, std::string why, process::exit_report const& report,
                        nanoseconds now) {
    leave_place(job, now);
    models_.warn_if_missing(job, now);
    gpus_.forget_probe(job);  // it was for another question
    if (job.devices != nullptr) job.devices->ended(gpus_.has_left_devices(job, now), now);
    scheduler_.release(job.id);
    if (auto const unread = progress_.unread_output(job); !unread.empty()) why += (why.empty() ? "" : "; ") + unread;
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
                           .why = job.why},
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
