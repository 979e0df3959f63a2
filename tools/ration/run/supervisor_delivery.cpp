// SPDX-License-Identifier: BSL-1.0
// How the supervisor delivers the model of a job at its Acceptable tier: the job saves, and a copy of its checkpoint is
// kept while it trains on.
#include <fmt/core.h>

#include "common/error_text.hpp"
#include "common/quantity.hpp"
#include "run/linked_copy.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

using phase = delivery::phase;

[[nodiscard]] nanoseconds save_timeout(job_config const& job) noexcept {
    return (job.elastic ? job.elastic->deadlines : resize_deadlines{}).save;
}

/// A job on its way to another size saves by itself.
[[nodiscard]] bool is_resizing(live_job const& job) noexcept {
    return job.devices != nullptr && job.devices->phase() != resize_phase::steady;
}

}  // namespace

void supervisor::work_on_deliveries(nanoseconds now) {
    for (auto& job : board_.jobs()) {
        if (!job.alive() || job.stopping != stop_reason::none) continue;
        if (job.model.now == phase::wanted && !is_resizing(job)) ask_for_model(job, now);
        if (job.model.now == phase::asked && now >= *job.model.deadline)
            await_model(
                job, fmt::format("it has reported no checkpoint within {}", duration_text(save_timeout(*job.config))),
                now);
    }
}

/// With a hold, so that no later checkpoint takes the place of this one while it is copied.
void supervisor::ask_for_model(live_job& job, nanoseconds now) {
    if (!control_ || job.control.empty()) return await_model(job, "it takes no commands", now);
    auto const patience = save_timeout(*job.config);
    auto const sent = control_->send(job.control, job.run, job.token.view(),
                                     {.type = progress::command_type::save, .by = patience, .hold = true});
    if (!sent) return await_model(job, to_text(sent.failure()), now);
    job.model.now = phase::asked;
    job.model.command = *sent;
    job.model.deadline = now + patience;
}

void supervisor::await_model(live_job& job, std::string why, nanoseconds now) {
    job.model.now = phase::awaited;
    warn_once(job.config->name,
              fmt::format("its model at Acceptable is not delivered yet: {}; its next checkpoint will be", why), now);
}

void supervisor::handle_model(live_job& job, progress::update const& reply, nanoseconds now) {
    if (job.model.now == phase::none || job.model.now == phase::done) return;
    auto const& what = reply.body;
    if (what.type == progress::message_type::acknowledge && !what.taken_in && job.model.now == phase::asked &&
        what.command == job.model.command)
        return await_model(job, "it does not know the command to save", now);
    if (what.type != progress::message_type::checkpoint) return;
    if (what.durable && what.step >= job.model.from) return deliver(job, what.step, now);
    if (!what.durable && job.model.now == phase::asked) await_model(job, "its checkpoint failed", now);
}

void supervisor::deliver(live_job& job, std::uint64_t step, nanoseconds now) {
    std::string const folder = parts_.output_folder + '/' + job.config->name + ".acceptable";
    bool const holds = job.model.now == phase::asked && !is_resizing(job) && job.stopping == stop_reason::none;
    auto const copied = make_linked_copy(job.checkpoint, folder);
    // Else its hold ends by itself
    if (holds)
        static_cast<void>(control_->send(job.control, job.run, job.token.view(), {.type = progress::command_type::go}));
    if (!copied) return await_model(job, to_text(copied.failure()), now);
    job.model.now = phase::done;
    emit(
        delivered{
            .job = job.config->name, .incarnation = job.run.value, .step = step, .files = *copied, .folder = folder},
        now);
}

}  // namespace ration::program
