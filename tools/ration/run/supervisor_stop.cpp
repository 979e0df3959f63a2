// SPDX-License-Identifier: BSL-1.0
// How the supervisor brings jobs to their end: by the protocol's command where they take any, so that they save first; by SIGTERM; by SIGKILL.
#include <fmt/core.h>

#include "error_text.hpp"
#include "quantity.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

/// From SIGTERM to SIGKILL, and from each SIGKILL to the next.
constexpr nanoseconds grace = seconds(10);

/// What a job has for a checkpoint and its end.
[[nodiscard]] nanoseconds patience_with(job_config const& job) noexcept {
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
bool supervisor::begin_to_end(live_job& job, std::string why) {
    if (job.asked_to_stop) return false;
    job.asked_to_stop = true;
    job.why = std::move(why);
    if (job.devices != nullptr) job.devices->finish();
    return true;
}

void supervisor::ask_to_stop(live_job& job, std::string why, nanoseconds now) {
    if (!begin_to_end(job, std::move(why))) return;
    if (command_stop(job))
        job.terminate_at = now + patience_with(*job.config);
    else
        terminate(job, now);
}

/// Whether it is on its way: to a job that has said where it listens.
bool supervisor::command_stop(live_job& job) {
    if (!control_ || job.control.empty() || !parts_.node.let_run(job.id)) return false;
    auto const sent = control_->send(job.control, job.run, job.token.view(),
                                     {.type = progress::command_type::stop, .by = patience_with(*job.config)});
    if (sent) job.last_command = *sent;
    return static_cast<bool>(sent);
}

void supervisor::terminate(live_job& job, nanoseconds now) {
    job.terminate_at.reset();
    job.kill_at = now + grace;
    if (auto asked = parts_.node.ask_to_end(job.id); !asked && asked.failure().code != errc::gone)
        warn_once(job.config->name, to_text(asked.failure()), now);
}

/// Its answer to a command is that it does not know it.
void supervisor::hear_of_stop(live_job& job, progress::update const& said, nanoseconds now) {
    bool const refused = said.said.type == progress::message_type::acknowledge && !said.said.taken_in && said.said.command == job.last_command;
    if (refused && job.terminate_at) terminate(job, now);
}

void supervisor::keep_deadlines(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive()) continue;
        if (job.terminate_at && now >= *job.terminate_at && !job.kill_at) {
            warn_once(job.config->name, fmt::format("it was told to stop and has not within {}", duration_text(patience_with(*job.config))), now);
            terminate(job, now);
        }
        if (!job.kill_at || now < *job.kill_at) continue;
        job.kill_at = now + grace;
        if (auto killed = parts_.node.kill(job.id); !killed) warn_once(job.config->name, to_text(killed.failure()), now);
    }
}

}  // namespace ration::program
