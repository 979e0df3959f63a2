// SPDX-License-Identifier: BSL-1.0
#include "run/job_stopper.hpp"

#include <csignal>
#include <fmt/core.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/quantity.hpp"

namespace ration::program {
namespace {

constexpr nanoseconds between_kills = seconds(10);

/// For a checkpoint and the end of a job.
[[nodiscard]] nanoseconds stop_timeout(job_config const& job) noexcept {
    auto const deadlines = job.elastic ? job.elastic->deadlines : resize_deadlines{};
    return deadlines.save + deadlines.stop;
}

/// Whether only the command may end the job for this reason.
[[nodiscard]] bool needs_command(job_config const& job, stop_reason why) noexcept {
    return why == stop_reason::objective_reached && job.at_objective == objective_action::save;
}

}  // namespace

/// False if that was done before.
bool job_stopper::begin(live_job& job, stop_reason why) {
    if (is_stopping(job)) return false;
    states_[job].reason = why;
    job.why = name_of(why);
    if (job.devices != nullptr) job.devices->finish();
    return true;
}

void job_stopper::ask_to_stop(live_job& job, stop_reason why, nanoseconds now) {
    if (!begin(job, why)) return;
    if (send_stop(job))
        states_[job].terminate_at = now + stop_timeout(*job.config);
    else if (needs_command(*job.config, why))
        let_train_on(job, now);
    else
        terminate(job, now);
}

bool job_stopper::may_end_at_objective(live_job const& job) const noexcept {
    auto const action = job.config->at_objective;
    return action == objective_action::stop || (action == objective_action::save && commands_.reaches(job));
}

void job_stopper::warn_if_it_trains_on(live_job const& job, nanoseconds now) {
    if (!job.config->target.objective || job.config->at_objective == objective_action::continuation) return;
    if (may_end_at_objective(job) || !scheduler_.reads_tiers()) return;
    events_.warn_once(job.config->name,
                      "it takes no commands, so it trains to its end after its Objective; write at_objective = "
                      "\"continue\" to accept this, or \"stop\" to end it there. \"stop\" ends the process by its stop "
                      "signal, so that everything it writes at its end is lost",
                      now);
}

/// A job that was asked to stop at its Objective and does not support the command.
void job_stopper::let_train_on(live_job& job, nanoseconds now) {
    states_[job] = {};
    job.why.clear();
    job.trains_on = true;
    node_.may_end(job.id, false);
    scheduler_.request_tick();
    events_.warn_once(job.config->name, "it does not take the command to stop, so it trains to its end", now);
}

void job_stopper::stop_at_once(live_job& job, stop_reason why, nanoseconds now) {
    if (begin(job, why)) terminate(job, now);
}

void job_stopper::refuse(live_job& job, std::string why, nanoseconds now) {
    states_[job].refused = std::move(why);
    job.devices->finish();
    if (!job.alive()) return;
    if (auto const killed = kill(job); !killed) events_.warn_once(job.config->name, to_text(killed.failure()), now);
    kill_soon(job, now);
}

/// True if the command was sent, to a job that takes commands.
bool job_stopper::send_stop(live_job const& job) {
    if (!commands_.reaches(job) || !node_.let_run(job.id)) return false;
    return static_cast<bool>(
        commands_.send_and_follow(job, {.type = progress::command_type::stop, .by = stop_timeout(*job.config)}));
}

void job_stopper::terminate(live_job& job, nanoseconds now) {
    states_[job].terminate_at.reset();
    states_[job].kill_at = now + job.config->grace;
    if (auto asked = request_end(job, now); !asked && asked.failure().code != errc::gone)
        events_.warn_once(job.config->name, to_text(asked.failure()), now);
}

nanoseconds job_stopper::end_rest(live_job& job, nanoseconds now) {
    states_[job].terminate_at.reset();
    if (auto asked = node_.jobs().ask_to_end(job.id); !asked)
        events_.warn_once(job.config->name, to_text(asked.failure()), now);
    return now + job.config->grace;
}

result<void> job_stopper::request_end(live_job& job, nanoseconds now) {
    bool const has_first = job.process && !job.process->ended();
    if (has_first) scheduler_.reconcile(job, now);
    int const number = job.config->stop_signal;
    if (number != SIGTERM && has_first) return job.process->signal_group(number);
    auto const asked = node_.jobs().ask_to_end(job.id);
    bool const reached = !has_first || node_.jobs().contains(job.id, job.process->pid());
    return reached ? asked : job.process->signal(SIGTERM);
}

result<void> job_stopper::kill(live_job& job) {
    if (job.process) static_cast<void>(job.process->signal(SIGKILL));  // it may have ended
    return node_.jobs().kill(job.id);
}

/// A job that does not support the command to stop gets its signal, or trains on.
void job_stopper::handle(live_job& job, progress::report const& reply, nanoseconds now) {
    if (!states_[job].terminate_at || !commands_.is_refusal(job, reply)) return;
    needs_command(*job.config, reason(job)) ? let_train_on(job, now) : terminate(job, now);
}

void job_stopper::keep_deadlines(nanoseconds now) {
    for (auto& job : jobs_.jobs()) {
        auto& state = states_[job];
        if (!job.alive()) continue;
        if (state.terminate_at && now >= *state.terminate_at && !state.kill_at) {
            events_.warn_once(
                job.config->name,
                fmt::format("it was asked to stop and has not within {}", duration_text(stop_timeout(*job.config))),
                now);
            terminate(job, now);
        }
        if (!state.kill_at || now < *state.kill_at) continue;
        state.kill_at = now + between_kills;
        if (auto killed = kill(job); !killed) events_.warn_once(job.config->name, to_text(killed.failure()), now);
    }
}

}  // namespace ration::program
