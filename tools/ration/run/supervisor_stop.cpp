// SPDX-License-Identifier: BSL-1.0
// How the supervisor brings jobs to their end: by the protocol's command where they take any, so that they save first;
// by SIGTERM; by SIGKILL.
#include <csignal>
#include <fmt/core.h>

#include <ration/process/environment.hpp>

#include "common/error_text.hpp"
#include "common/quantity.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

/// From SIGTERM to SIGKILL, and from each SIGKILL to the next.
constexpr nanoseconds job_grace_period = seconds(10);

/// What a job has for a checkpoint and its end.
[[nodiscard]] nanoseconds stop_timeout(job_config const& job) noexcept {
    auto const deadlines = job.elastic ? job.elastic->deadlines : resize_deadlines{};
    return deadlines.save + deadlines.stop;
}

}  // namespace

/// It has not started yet, or is between two launches.
void supervisor::stop_without_process(live_job& job, nanoseconds now) {
    if (job.run.value == 0 && job.devices != nullptr) job.devices->ended(true, now);
    if (job.run.value == 0) return set_condition(job, condition::stopped, "interrupted before its start", now);
    over(job, condition::stopped, "interrupted", {}, now);
}

/// False when that was done before.
bool supervisor::begin_to_end(live_job& job, stop_reason why) {
    if (job.stopping != stop_reason::none) return false;
    job.stopping = why;
    job.why = name_of(why);
    if (job.devices != nullptr) job.devices->finish();
    return true;
}

void supervisor::ask_to_stop(live_job& job, stop_reason why, nanoseconds now) {
    if (!begin_to_end(job, why)) return;
    if (command_stop(job))
        job.terminate_at = now + stop_timeout(*job.config);
    else
        terminate(job, now);
}

/// Whether it is on its way: to a job that has said where it listens.
bool supervisor::command_stop(live_job& job) {
    if (!control_ || job.control.empty() || !parts_.node.let_run(job.id)) return false;
    auto const sent = control_->send(job.control, job.run, job.token.view(),
                                     {.type = progress::command_type::stop, .by = stop_timeout(*job.config)});
    if (sent) job.last_command = *sent;
    return static_cast<bool>(sent);
}

void supervisor::terminate(live_job& job, nanoseconds now) {
    job.terminate_at.reset();
    job.kill_at = now + job_grace_period;
    if (auto asked = ask_to_end(job, now); !asked && asked.failure().code != errc::gone)
        warn_once(job.config->name, to_text(asked.failure()), now);
}

/// SIGTERM to all of the job. Its first process gets one of its own where it is not in the job's group.
result<void> supervisor::ask_to_end(live_job& job, nanoseconds now) {
    if (job.process) reconcile(job, now);
    auto const asked = parts_.node.ask_to_end(job.id);
    bool const reached = !job.process || parts_.node.contains(job.id, job.process->pid());
    return reached ? asked : job.process->signal(SIGTERM);
}

/// SIGKILL to all of the job, and in any case to its first process.
result<void> supervisor::kill(live_job& job) {
    if (job.process) static_cast<void>(job.process->signal(SIGKILL));  // it may have ended
    return parts_.node.kill(job.id);
}

/// Kills processes of a job that has ended which had left its group: they have its token in their environment.
void supervisor::end_strays(live_job const& job, nanoseconds now) {
    auto const mark = process::mark_of(job.token.view());
    auto const strays = parts_.node.has_groups()
                            ? process::find_marked(mark)
                            : result<std::vector<process::process_info>>(std::vector<process::process_info>());
    if (!strays || strays->empty()) return;
    warn_once(job.config->name, fmt::format("{} of its processes had left its cgroup; they are killed", strays->size()),
              now);
    if (auto const killed = process::kill_marked(mark); !killed)
        warn_once(job.config->name, to_text(killed.failure()), now);
}

/// Its answer to a command is that it does not know it.
void supervisor::handle_stop(live_job& job, progress::update const& reply, nanoseconds now) {
    bool const refused = reply.body.type == progress::message_type::acknowledge && !reply.body.taken_in &&
                         reply.body.command == job.last_command;
    if (refused && job.terminate_at) terminate(job, now);
}

void supervisor::keep_deadlines(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive()) continue;
        if (job.terminate_at && now >= *job.terminate_at && !job.kill_at) {
            warn_once(
                job.config->name,
                fmt::format("it was told to stop and has not within {}", duration_text(stop_timeout(*job.config))),
                now);
            terminate(job, now);
        }
        if (!job.kill_at || now < *job.kill_at) continue;
        job.kill_at = now + job_grace_period;
        if (auto killed = kill(job); !killed) warn_once(job.config->name, to_text(killed.failure()), now);
    }
}

}  // namespace ration::program
