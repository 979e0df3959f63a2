// SPDX-License-Identifier: BSL-1.0
#include "run/resize_controller.hpp"

#include "common/error_text.hpp"

namespace ration::program {
namespace {

/// Between two checks whether something is left of a job.
constexpr nanoseconds clear_interval = milliseconds(200);

[[nodiscard]] std::int64_t next_batch_of(live_job const& job) {
    auto const& known = job.elastic().batches;
    if (known.empty()) return 0;
    if (job.devices->state().devices.batch() > 0) return job.devices->state().devices.batch();
    return known[std::min(known.size() - 1, static_cast<std::size_t>(job.devices->state().devices.size()))];
}

}  // namespace

void resize_controller::advance(nanoseconds now) {
    if (!jobs_.shares_devices()) return;
    shares_.probe(now);
    for (auto& job : jobs_.jobs())
        if (job.devices != nullptr) clear(job, now);
    elastic_.advance(now);
    for (auto& job : jobs_.jobs())
        if (job.devices != nullptr) attend(job, now);
}

std::optional<nanoseconds> resize_controller::next_deadline(live_job const& job) const noexcept {
    if (job.devices == nullptr) return std::nullopt;
    auto const deadline = job.devices->next_deadline();
    return deadline ? std::optional(std::max(*deadline, clear_at_[job])) : std::nullopt;
}

/// An order is recorded before it is carried out: a start after a crash finds the state before the order, or the one
/// after it.
void resize_controller::attend(live_job& job, nanoseconds now) {
    for (;;) {
        auto const notes = job.devices->take_notes();
        for (auto const& note : notes) emit(job, note, now);
        auto const orders = job.devices->take_orders();
        if (!orders.empty() || !notes.empty()) record_.save();
        for (auto const order : orders) carry_out(job, order, now);
        if (!launch_when_due(job, now) && orders.empty()) return;
    }
}

void resize_controller::emit(live_job& job, resize_note const& note, nanoseconds now) {
    scheduler_.request_tick();
    events_.emit(resize_changed{.job = job.config->name,
                                .incarnation = job.run.value,
                                .what = note.what,
                                .from = note.from,
                                .to = note.to,
                                .devices = elastic_.table().devices().names(note.devices),
                                .why = note.why},
                 now);
    if (job.over()) return;  // it holds nothing: its end has released everything
    if (note.what == resize_step::failed) roll_back(job, note, now);
    if (note.what == resize_step::settled || note.what == resize_step::restored)
        set_condition(job, condition::running, "", now, events_);
    if (note.what == resize_step::queued) set_condition(job, condition::waiting, "for devices", now, events_);
}

/// The ledger gets what the job really holds; the policy gets the failure of its grant.
void resize_controller::roll_back(live_job& job, resize_note const& note, nanoseconds now) {
    scheduler_.set_held({job.id, 0, resource_id::gpu, note.from}, now);
    if (job.devices->state().devices.batch() != 0) {
        job.devices->want_batch(job.batch);
        scheduler_.set_held({job.id, 0, resource_id::batch, job.batch}, now);
    }
    scheduler_.report_failed_grant(job, note.to, now);
}

void resize_controller::carry_out(live_job& job, resize_order order, nanoseconds now) {
    auto const& deadlines = job.elastic().deadlines;
    result<void> done;
    switch (order) {
        case resize_order::save:
            return send(job, {.type = progress::command_type::save, .by = deadlines.save, .hold = true}, now);
        case resize_order::go: return send(job, {.type = progress::command_type::go}, now);
        case resize_order::stop: return send(job, {.type = progress::command_type::stop, .by = deadlines.stop}, now);
        case resize_order::terminate: done = stopper_.request_end(job, now); break;
        case resize_order::kill: done = stopper_.kill(job); break;
        case resize_order::launch: return;  // when the GPUs were probed
        case resize_order::refuse: return refuse(job, now);
    }
    if (!done && done.failure().code != errc::gone) events_.warn_once(job.config->name, to_text(done.failure()), now);
}

void resize_controller::send(live_job& job, progress::command const& what, nanoseconds now) {
    if (!commands_.is_open()) return job.devices->command_failed("no command can be sent", now);
    auto const sent = commands_.send_and_follow(job, what);
    if (!sent && what.type != progress::command_type::go) job.devices->command_failed(to_text(sent.failure()), now);
}

/// Makes a launch that was ordered, with the GPUs as they are now. Whether it was time for it.
bool resize_controller::launch_when_due(live_job& job, nanoseconds now) {
    if (!job.devices->launch().is_awaited() || !launcher_.is_due(job, now) || !gpus_.has_probed(job, now)) return false;
    job.devices->launch().replace_cordoned(now);
    if (!job.devices->launch().is_awaited()) return true;
    if (!source_.may_launch(job)) return false;
    relaunch(job, now);
    return true;
}

void resize_controller::relaunch(live_job& job, nanoseconds now) {
    job.batch = next_batch_of(job);
    commands_.set_address(job, {});
    auto const launched = launcher_.launch(job, now);
    if (!launched && job.failed_by_host && source_.waits_for_machine(job))
        return launcher_.postpone(job, launched.failure(), now);
    if (!launched) return job.devices->launch().failed(to_text(launched.failure()), now);
    job.devices->launch().made(now);
    // New processes have no limit but that of their devices
    scheduler_.set_held({job.id, 0, resource_id::cpu, 0}, now);
}

void resize_controller::refuse(live_job& job, nanoseconds now) {
    stopper_.refuse(job, job.devices->state().outbox.why(), now);
    if (!job.alive()) reaper_.finish(job, condition::failed, stopper_.refusal(job), {}, now);
}

/// Whether something is left of a job between two launches.
void resize_controller::clear(live_job& job, nanoseconds now) {
    if (job.devices->state().phase != resize_phase::clearing) {
        clear_at_[job] = {};
        return;
    }
    if (now < clear_at_[job]) return;
    reaper_.clear_place(job, now);
    if (job.placed) {
        clear_at_[job] = now + clear_interval;
    } else if (gpus_.has_left_devices(job, now)) {
        job.devices->cleared(now);
        scheduler_.request_tick();  // others may have its devices
    } else if (!gpus_.awaits_probe(job)) {
        clear_at_[job] = now + clear_interval;
    }
}

void resize_controller::handle(live_job& job, progress::update const& reply, nanoseconds now) {
    auto const& what = reply.body;
    auto& machine = *job.devices;
    switch (what.type) {
        case progress::message_type::hello:
            if (reply.rank != 0)
                machine.launch().hello_of(reply.rank, what.devices, now);
            else
                machine.launch().hello(!commands_.address(job).empty(), what.world, what.devices, now);
            break;
        case progress::message_type::want:
            jobs_.devices()->set_requested(job, static_cast<std::int64_t>(what.wanted));
            return scheduler_.request_tick();
        case progress::message_type::checkpoint: machine.checkpoint(what.durable, now); break;
        case progress::message_type::step:
            if (!machine.state().can_be_saved() && job.elastic().devices.minimum < job.elastic().devices.maximum)
                events_.warn_once(
                    job.config->name,
                    "it is not resized: it takes no commands and has reported no checkpoint; see docs/elastic.md", now);
            machine.launch().stepped(now);
            shares_.handle_step(job, now);
            break;
        case progress::message_type::acknowledge:
            if (!commands_.is_refusal(job, what)) return;
            machine.command_failed("it does not obey the command", now);
            break;
        default: return;
    }
    attend(job, now);
}

}  // namespace ration::program
