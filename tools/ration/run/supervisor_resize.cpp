// SPDX-License-Identifier: BSL-1.0
// What the supervisor does for jobs with devices: it carries out what their machines order (resize.hpp), and tells them
// what happens.
#include <algorithm>
#include <filesystem>
#include <fmt/core.h>

#include <ration/host/grant_event.hpp>
#include <ration/process/environment.hpp>

#include "common/error_text.hpp"
#include "run/supervisor.hpp"

namespace ration::program {
namespace {

/// Between two looks at what may be left of a job.
constexpr nanoseconds clear_interval = milliseconds(200);

}  // namespace

void supervisor::share_devices() {
    for (auto& job : board_.jobs())
        if (job.config->elastic)
            elastic_.add(job.id, {.deadlines = job.config->elastic->deadlines},
                         to_seconds(job.config->elastic->restart_cost));
    elastic_.table().set_memory(parts_.devices.memory());
    for (auto& job : board_.jobs()) {
        job.devices = elastic_.find(job.id);
        if (job.config->elastic) elastic_.table().needs(job.id, job.config->elastic->gpu_memory);
    }
    elastic_.table().are_shares_of(parts_.devices.whole());
    parts_.node.share_devices(elastic_);
    choose_by_place();
}

void supervisor::open_control() {
    auto const path = receiver_.path();
    if (auto opened = progress::control::open(path.substr(0, path.rfind('/'))); opened)
        control_ = std::move(opened).value();
    else
        warn_once("commands", to_text(opened.failure()), clock());
}

void supervisor::choose_by_place() {
    if (!placement_) return;
    elastic_.table().choose_by(*placement_);
    for (auto const& job : board_.jobs())
        if (job.devices != nullptr) placement_->add(job.id, job.config->cpu.maximum);
}

/// A run without GPUs has no topology, and no reason why not.
void supervisor::warn_of_placement(nanoseconds now) {
    auto const& topology = parts_.topology;
    if (!topology.why_not.empty())
        warn_once(
            "placement",
            fmt::format("GPUs are chosen by number, and no CPU is bound: {}; {}", topology.why_not, topology.remedy),
            now);
    if (topology.machine && !topology.is_this_machine)
        warn_once(
            "placement",
            "GPUs are chosen by the machine that HWLOC_XMLFILE names, and no CPU is bound; unset it, or set HWLOC_THISSYSTEM=1 if it is this one",
            now);
}

void supervisor::work_on_devices(nanoseconds now) {
    if (!board_.shares_devices()) return;
    probe_clients(now);
    for (auto& job : board_.jobs())
        if (job.devices != nullptr) find_remaining(job, now);
    elastic_.advance(now);
    for (auto& job : board_.jobs())
        if (job.devices != nullptr) attend(job, now);
}

/// What is ordered is written down first: whoever starts after a crash finds either the state before the order or the
/// one after it.
void supervisor::attend(live_job& job, nanoseconds now) {
    for (;;) {
        auto const notes = job.devices->take_notes();
        for (auto const& note : notes) emit(job, note, now);
        auto const orders = job.devices->take_orders();
        if (!orders.empty() || !notes.empty()) record();
        for (auto const order : orders) carry_out(job, order, now);
        if (!launch_when_due(job, now) && orders.empty()) return;
    }
}

void supervisor::emit(live_job& job, resize_note const& note, nanoseconds now) {
    news_ = true;
    emit(resize_changed{.job = job.config->name,
                        .incarnation = job.run.value,
                        .what = note.what,
                        .from = note.from,
                        .to = note.to,
                        .devices = elastic_.table().names(note.devices),
                        .why = note.why},
         now);
    if (note.what == resize_step::failed) roll_back_devices(job, note, now);
    if (job.over()) return;
    if (note.what == resize_step::settled || note.what == resize_step::restored)
        set_condition(job, condition::running, "", now);
    if (note.what == resize_step::queued) set_condition(job, condition::waiting, "for devices", now);
}

/// The ledger says what the job really has; the policy hears that its grant came to nothing.
void supervisor::roll_back_devices(live_job& job, resize_note const& note, nanoseconds now) {
    engine_.reattach({job.id, 0, resource_id::gpu, note.from}, now);
    if (job.devices->batch() != 0) {
        job.devices->want_batch(job.batch);
        engine_.reattach({job.id, 0, resource_id::batch, job.batch}, now);
    }
    auto const failed = event_of(event_kind::grant_failed, {job.id, 0, resource_id::gpu, note.to},
                                 static_cast<std::uint32_t>(job.row), now);
    parts_.policy.on_events({&failed, 1});
}

void supervisor::carry_out(live_job& job, resize_order order, nanoseconds now) {
    auto const& deadlines = job.config->elastic->deadlines;
    result<void> done;
    switch (order) {
        case resize_order::save:
            return send(job, {.type = progress::command_type::save, .by = deadlines.save, .hold = true}, now);
        case resize_order::go: return send(job, {.type = progress::command_type::go}, now);
        case resize_order::stop: return send(job, {.type = progress::command_type::stop, .by = deadlines.stop}, now);
        case resize_order::terminate: done = ask_to_end(job, now); break;
        case resize_order::kill: done = kill(job); break;
        case resize_order::launch: return;  // when the GPUs have been looked at
        case resize_order::refuse: return refuse(job, now);
    }
    if (!done && done.failure().code != errc::gone) warn_once(job.config->name, to_text(done.failure()), now);
}

void supervisor::send(live_job& job, progress::command const& what, nanoseconds now) {
    if (!control_) return job.devices->command_failed("no command can be sent", now);
    auto const sent = control_->send(job.control, job.run, job.token.view(), what);
    if (sent)
        job.last_command = *sent;
    else if (what.type != progress::command_type::go)
        job.devices->command_failed(to_text(sent.failure()), now);
}

/// A launch that was ordered is made with the GPUs as they are now. Whether it was time for it.
bool supervisor::launch_when_due(live_job& job, nanoseconds now) {
    if (!job.devices->awaits_launch() || !has_looked(job, now)) return false;
    job.devices->replace_before_launch(now);
    if (job.devices->awaits_launch()) relaunch(job, now);
    return true;
}

void supervisor::relaunch(live_job& job, nanoseconds now) {
    job.batch = batch_of(job);
    job.control.clear();
    job.reported_done = false;
    auto const launched = launch(job, now);
    if (!launched) return job.devices->launch_failed(to_text(launched.failure()), now);
    job.devices->launched(now);
    engine_.reattach({job.id, 0, resource_id::cpu, 0}, now);  // new processes have no limit but that of their devices
}

void supervisor::refuse(live_job& job, nanoseconds now) {
    job.refused = job.devices->why();
    job.devices->finish();
    if (!job.alive()) return over(job, condition::failed, job.refused, {}, now);
    if (auto const killed = kill(job); !killed) warn_once(job.config->name, to_text(killed.failure()), now);
    job.kill_at = now;
}

void supervisor::find_remaining(live_job& job, nanoseconds now) {
    if (job.devices->phase() != resize_phase::clearing || now < job.clear_at) return;
    leave_place(job, now);
    if (has_left_devices(job, now)) {
        job.devices->cleared(now);
        news_ = true;  // others may have what it had
    } else if (!job.probe) {
        job.clear_at = now + clear_interval;
    }
}

/// Its process has ended and another one follows, or will when there are devices.
void supervisor::end_incarnation(live_job& job, nanoseconds now) {
    if (auto const seen = parts_.node.observe(job.id)) job.cpu_time = std::max(job.cpu_time, seen->cpu_time);
    job.earlier_cpu_time = job.earlier_cpu_time + job.cpu_time;
    job.cpu_time = {};
    job.process.reset();
    job.kill_at.reset();
    job.control.clear();
    job.tracker.clear_window();
    job.clear_at = now;
    job.probe.reset();
    news_ = true;
    set_condition(job, condition::restarting, "", now);
}

void supervisor::handle_devices(live_job& job, progress::update const& reply, nanoseconds now) {
    auto const& what = reply.body;
    switch (what.type) {
        case progress::message_type::hello:
            if (reply.rank != 0) {
                job.devices->hello_of(reply.rank, what.devices, now);
                return attend(job, now);
            }
            job.devices->hello(!job.control.empty(), what.world, what.devices, now);
            return attend(job, now);
        case progress::message_type::want:
            job.requested = what.wanted == 0 ? -1 : static_cast<std::int64_t>(what.wanted);
            news_ = true;
            return;
        case progress::message_type::checkpoint: job.devices->checkpoint(what.durable, now); return attend(job, now);
        case progress::message_type::step:
            if (!job.devices->can_be_saved() &&
                job.config->elastic->devices.minimum < job.config->elastic->devices.maximum)
                warn_once(job.config->name,
                          "it is not resized: it takes no commands and has reported no checkpoint; see docs/elastic.md",
                          now);
            job.devices->stepped(now);
            if (!job.share.from) job.share.from = now;  // it computes by now
            return attend(job, now);
        case progress::message_type::acknowledge:
            if (what.taken_in || what.command != job.last_command) return;
            job.devices->command_failed("it does not obey the command", now);
            return attend(job, now);
        default: return;
    }
}

void supervisor::record_devices(live_job const& job, recorded_job& into) const {
    auto const& s = job.devices->state();
    into.phase = s.now;
    into.holds = names_of(s.holds);
    into.next = names_of(s.next);
    into.origin = names_of(s.origin);
    into.wanted = s.wanted;
    into.batch = s.batch;
    into.launched_batch = job.batch;
    into.falls_back = s.falls_back;
    into.returning = s.returning;
    into.has_saved = s.has_saved;
    into.finishing = s.finishing;
    into.cost = s.cost;
    into.control = job.control;
    into.checkpoint = job.checkpoint;
}

/// In another group it could be on all CPUs.
void supervisor::take_place(live_job& job, process::cpu_set const& bound, nanoseconds now) {
    job.place = placement_->reattach(job.id, job.devices->devices(), bound);
    auto const kept = job.place.cpus.empty() ? result<void>() : parts_.node.confine(job.id, job.place.cpus);
    if (!kept) warn_once(job.config->name, to_text(kept.failure()), now);
}

/// Of those in a record. What this run does not share is left as soon as may be.
device_list supervisor::numbers_of(std::vector<std::string> const& recorded, nanoseconds now) {
    device_list out;
    for (auto const& name : recorded) {
        auto const known = elastic_.table().size();
        out.push_back(elastic_.table().number(name));
        if (elastic_.table().size() > known)
            emit(device_changed{.device = name, .what = device_change::cordoned, .why = "this run does not share it"},
                 now);
    }
    return out;
}

void supervisor::reattach_devices(live_job& job, recorded_job const& recorded, job_traces const& traces,
                                  nanoseconds now) {
    auto const numbers = [&](std::vector<std::string> const& names) { return numbers_of(names, now); };
    resize_state const state{.now = recorded.phase.value_or(resize_phase::steady),
                             .wanted = recorded.wanted,
                             .holds = numbers(recorded.holds),
                             .next = numbers(recorded.next),
                             .origin = numbers(recorded.origin),
                             .falls_back = recorded.falls_back,
                             .returning = recorded.returning,
                             .control = !recorded.control.empty(),
                             .has_saved = recorded.has_saved,
                             .finishing = recorded.finishing,
                             .cost = recorded.cost,
                             .batch = recorded.batch};
    job.control = recorded.control;
    job.checkpoint = recorded.checkpoint;
    job.batch = recorded.launched_batch;
    // Another group may bind it to other CPUs
    auto const bound = process::cpu_set::of_thread(traces.has_first ? recorded.pid : 0);
    bool const alive = traces.has_first && reattach_process(job, recorded);
    if (alive && parts_.devices.of_cpu())
        if (auto const capped = parts_.node.cap_cpu(job.id, *cpu_of_devices(state.holds.size())); !capped)
            warn_once(job.config->name, to_text(capped.failure()), now);
    bool const ours = job.devices->restore(state, alive, now);
    if (ours && alive && placement_) take_place(job, bound, now);
    bool const was_ended = !alive && traces.launched && !state.has_saved &&
                           (state.now == resize_phase::steady || state.now == resize_phase::starting);
    if (!ours || (was_ended && !state.falls_back && !state.returning))
        return over(job, condition::failed,
                    ours ? "ended while no ration was there to see how" : "its devices are another job's", {}, now);
    if (state.finishing && !alive)
        return over(job, condition::finished, "ended while no ration was there to see how", {}, now);
    engine_.reattach({job.id, 0, resource_id::gpu, job.devices->wanted()}, now);
    if (state.batch != 0) engine_.reattach({job.id, 0, resource_id::batch, state.batch}, now);
    bool const restarting = !alive || job.devices->is_restarting();
    if (state.now != resize_phase::queued)
        set_condition(job, restarting ? condition::restarting : condition::running, "", now);
    parts_.out.print(fmt::format("{}: taken over from an earlier run ({})", job.config->name,
                                 alive ? fmt::format("process {}", job.process->pid()) : "between two launches"));
}

std::vector<std::string> supervisor::names_of(std::span<std::uint32_t const> devices) const {
    std::vector<std::string> out;
    for (auto const device : devices) out.push_back(elastic_.table().name(device));
    return out;
}

/// One that the user names is never emptied: what is in it is where the job goes on. Ration's own one is empty at the
/// first launch.
result<void> supervisor::prepare_checkpoints(live_job& job) const {
    namespace fs = std::filesystem;
    std::error_code failure;
    if (job.checkpoint.empty()) {
        bool const own = !job.config->elastic || job.config->elastic->checkpoint.empty();
        job.checkpoint = own ? parts_.output_folder + '/' + job.config->name + ".checkpoint"
                             : fs::absolute(job.config->elastic->checkpoint).string();
        if (own) fs::remove_all(job.checkpoint, failure);
    }
    fs::create_directories(job.checkpoint, failure);
    if (!failure) return {};
    return error{.code = errc::io,
                 .operation = "make the folder for checkpoints",
                 .subject = std::string_view(job.checkpoint),
                 .system = failure.value(),
                 .remedy = "name another one: checkpoint = \"folder\""};
}

std::int64_t supervisor::batch_of(live_job const& job) const {
    auto const& known = job.config->elastic->batches;
    if (known.empty()) return 0;
    if (job.devices->batch() > 0) return job.devices->batch();
    return known[std::min(known.size() - 1, static_cast<std::size_t>(job.devices->size()))];
}

std::optional<millicores> supervisor::cpu_of_devices(std::size_t count) const {
    if (!parts_.devices.of_cpu()) return std::nullopt;
    return millicores{parts_.devices.each().count * static_cast<std::int64_t>(count)};
}

}  // namespace ration::program
