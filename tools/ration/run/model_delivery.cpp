// SPDX-License-Identifier: BSL-1.0
#include "run/model_delivery.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/quantity.hpp"

namespace ration::program {
namespace {

[[nodiscard]] nanoseconds save_timeout(job_config const& job) noexcept {
    return (job.elastic ? job.elastic->deadlines : resize_deadlines{}).save;
}

/// During a resize a job saves anyway.
[[nodiscard]] bool is_resizing(live_job const& job) noexcept {
    return job.devices != nullptr && job.devices->state().phase != resize_phase::steady;
}

}  // namespace

void model_delivery::handle_tier(live_job const& job, std::uint64_t step) {
    if (job.config->saves_at_acceptable && states_[job].now == phase::none)
        states_[job] = {.now = phase::wanted, .from = step, .command = 0, .deadline = {}};
}

void model_delivery::advance(nanoseconds now) {
    for (auto const& job : jobs_.jobs()) {
        auto const& model = states_[job];
        if (!job.alive() || stopper_.is_stopping(job)) continue;
        if (model.now == phase::wanted && !is_resizing(job)) ask(job, now);
        if (model.now == phase::asked && model.deadline && now >= *model.deadline)
            await(job, fmt::format("it has reported no checkpoint within {}", duration_text(save_timeout(*job.config))),
                  now);
    }
    for (auto const& copy : copies_.advance()) end_copy(copy, now);
}

/// With a hold, so that no later checkpoint replaces this one while it is copied.
void model_delivery::ask(live_job const& job, nanoseconds now) {
    if (!commands_.reaches(job)) return await(job, "it takes no commands", now);
    auto const patience = save_timeout(*job.config);
    auto const sent = commands_.send(job, {.type = progress::command_type::save, .by = patience, .hold = true});
    if (!sent) return await(job, to_text(sent.failure()), now);
    auto& model = states_[job];
    model.now = phase::asked;
    model.command = *sent;
    model.deadline = now + patience;
}

void model_delivery::await(live_job const& job, std::string const& why, nanoseconds now) {
    states_[job].now = phase::awaited;
    events_.warn_once(job.config->name,
                      fmt::format("its model at Acceptable is not delivered yet: {}; its next checkpoint will be", why),
                      now);
}

void model_delivery::handle(live_job const& job, progress::report const& reply, nanoseconds now) {
    auto const& model = states_[job];
    if (model.now == phase::none || model.now == phase::copying || model.now == phase::done) return;
    if (reply.type == progress::message_type::acknowledge && !reply.taken_in && model.now == phase::asked &&
        reply.command == model.command)
        return await(job, "it does not support the command to save", now);
    if (reply.type != progress::message_type::checkpoint) return;
    if (reply.durable && reply.step >= model.from) return deliver(job, reply.step);
    if (!reply.durable && model.now == phase::asked) await(job, "its checkpoint failed", now);
}

void model_delivery::deliver(live_job const& job, std::uint64_t step) {
    auto& model = states_[job];
    model.holds = model.now == phase::asked && !is_resizing(job) && !stopper_.is_stopping(job);
    model.now = phase::copying;
    copies_.give({.job = job.config->name,
                  .incarnation = job.run.value,
                  .step = step,
                  .from = job.checkpoint,
                  .to = job.config->output_folder(output_folder_) + '/' + job.config->name + ".acceptable",
                  .owner = job.config->owner ? std::optional(job.config->owner->account) : std::nullopt});
}

/// The job may have ended meanwhile, or be in its next incarnation.
void model_delivery::end_copy(copy_runner::outcome const& copy, nanoseconds now) {
    auto const& what = copy.what;
    auto const jobs = std::as_const(jobs_).jobs();
    auto const found =
        std::ranges::find_if(jobs, [&](live_job const& one) { return !one.forgotten && one.config->name == what.job; });
    auto* const model = found != jobs.end() ? &states_[*found] : nullptr;
    // If it is not sent, the hold ends by itself
    if (model != nullptr && std::exchange(model->holds, false) && found->run.value == what.incarnation)
        static_cast<void>(commands_.send(*found, {.type = progress::command_type::go}));
    if (!copy.problem.empty()) {
        if (model != nullptr && !found->over()) return await(*found, copy.problem, now);
        return events_.warn_once(what.job, "its model at Acceptable is not delivered: " + copy.problem, now);
    }
    if (model != nullptr) model->now = phase::done;
    events_.emit(delivered{.job = what.job,
                           .incarnation = what.incarnation,
                           .step = what.step,
                           .files = copy.files,
                           .folder = what.to},
                 now);
}

void model_delivery::warn_if_missing(live_job const& job, nanoseconds now) {
    auto const state = states_[job].now;
    if (state != phase::none && state != phase::copying && state != phase::done)
        events_.warn_once(job.config->name,
                          "its model at Acceptable is not delivered: it has reported no checkpoint since then", now);
}

}  // namespace ration::program
