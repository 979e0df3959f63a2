// SPDX-License-Identifier: BSL-1.0
#include "run/resize.hpp"

#include <fmt/core.h>
#include <utility>

#include "common/quantity.hpp"

namespace ration::program {

void resize::advance(nanoseconds now) {
    state_.seen = now;
    if (state_.phase == resize_phase::queued) return start_queued(now);
    if (state_.phase == resize_phase::steady) return advance_steady(now);
    bool const ends =
        state_.is_finishing && (state_.phase == resize_phase::starting || state_.phase == resize_phase::saving);
    if (launch_.is_awaited() || !state_.timer.is_due(now) || ends) return;
    switch (state_.phase) {
        case resize_phase::saving: {
            auto const limit = state_.timer.rules().deadlines.save;
            return abort(fmt::format("it has reported no checkpoint within {}", duration_text(limit)), now);
        }
        case resize_phase::stopping: return state_.enter(resize_phase::terminating, now);
        case resize_phase::terminating: return state_.enter(resize_phase::killing, now);
        case resize_phase::killing:
        case resize_phase::clearing: return keep_devices(now);
        case resize_phase::starting: return launch_.time_out(now);
        case resize_phase::queued:
        case resize_phase::steady:
        case resize_phase::over: return;
    }
}

void resize::start_queued(nanoseconds now) {
    if (state_.devices.wanted() <= 0 || state_.is_finishing || !state_.rest.is_over(now)) return;
    if (state_.devices.take()) launch_.order(now);
}

void resize::advance_steady(nanoseconds now) {
    auto const& devices = state_.devices;
    // One that was cordoned is left as soon as may be
    bool const is_as_wanted = devices.wanted() == devices.size() && !devices.has_cordoned();
    if (is_as_wanted || state_.is_finishing) return state_.timer.end_wait();
    if (!state_.can_change(now)) return;
    if (devices.can_have_wanted()) return begin(now);
    // The policy sees it in the devices that it can share out
    if (devices.wanted() <= devices.size()) return state_.timer.end_wait();
    if (state_.timer.wait(now)) return state_.note(resize_step::waiting, "for devices that others give back");
    if (!state_.timer.has_waited(now)) return;
    auto const limit = state_.timer.rules().wait;
    state_.fail(devices.size(), fmt::format("no devices became free within {}", duration_text(limit)), now);
}

void resize::begin(nanoseconds now) {
    state_.timer.end_wait();
    state_.next.plan_wanted();
    state_.cost.begin(now);
    // Without commands it saves by itself now and then, and on SIGTERM if it likes
    state_.enter(state_.takes_commands ? resize_phase::saving : resize_phase::terminating, now);
}

/// Processes that do not release the devices keep them, and a message reports it.
void resize::keep_devices(nanoseconds now) {
    bool const is_killing = state_.phase == resize_phase::killing;
    if (state_.timer.repeat(now))
        state_.note(resize_step::stuck, is_killing ? "it cannot be killed; its devices stay reserved"
                                                   : "something still uses its devices, or may; they stay reserved");
    if (is_killing) state_.outbox.order(resize_order::kill);
}

void resize::checkpoint(bool ok, nanoseconds now) {
    state_.has_saved = state_.has_saved || ok;
    if (state_.phase != resize_phase::saving || state_.is_finishing) return;
    if (!ok) return abort("its checkpoint failed", now);
    state_.enter(resize_phase::stopping, now);
}

void resize::command_failed(std::string why, nanoseconds now) {
    if (state_.is_finishing) return;
    if (state_.phase == resize_phase::saving) return abort(std::move(why), now);
    if (state_.phase == resize_phase::stopping) state_.enter(resize_phase::terminating, now);
}

/// Before anything was stopped.
void resize::abort(std::string why, nanoseconds now) {
    state_.outbox.order(resize_order::go);
    state_.next.abort();
    state_.cost.cancel();
    state_.phase = resize_phase::steady;
    state_.fail(state_.devices.size(), std::move(why), now);
}

exit_meaning resize::exited(bool clean, bool done, nanoseconds now) {
    if (loses_a_device(clean)) {
        state_.next.plan_return();
        state_.enter(resize_phase::clearing, now, "it ended with a device that was cordoned");
        return exit_meaning::part_of_resize;
    }
    auto const phase = state_.phase;
    if (state_.is_finishing || phase == resize_phase::steady || phase == resize_phase::queued ||
        phase == resize_phase::over)
        return exit_meaning::job_is_over;
    bool const asked = phase != resize_phase::starting && phase != resize_phase::saving;
    if (clean && (done || !asked)) return exit_meaning::job_is_over;  // it came to its own end meanwhile
    if (phase == resize_phase::starting) {
        if (!launch_.ended("it ended at its start", now)) return exit_meaning::job_is_over;
    } else if (phase == resize_phase::saving) {
        state_.fail(state_.devices.size(), "it ended while it saved", now);
        state_.next.plan_return();
    }
    state_.enter(resize_phase::clearing, now);
    return exit_meaning::part_of_resize;
}

/// Whether its end is that of one of its devices, and there is a checkpoint to continue from.
bool resize::loses_a_device(bool clean) const {
    return !clean && state_.outlives_a_device() && state_.devices.has_cordoned();
}

void resize::cleared(nanoseconds now) {
    if (state_.phase != resize_phase::clearing) return;
    if (state_.is_finishing) return ended(true, now);
    if (!state_.next.hold_planned()) return state_.queue(now);
    launch_.order(now);
}

/// Not its own failure: it may grow as soon as there is something to take.
void resize::give_up_waiting(std::string why) {
    if (!state_.waits_to_grow()) return;
    state_.note(resize_step::failed, std::move(why));
    state_.devices.want(state_.devices.size());
    state_.timer.end_wait();
}

void resize::ended(bool clean, nanoseconds now) {
    state_.is_finishing = true;
    state_.devices.want(0);
    state_.next.forget();
    if (clean) {
        state_.devices.release();
        state_.phase = resize_phase::over;
    } else {
        state_.phase = resize_phase::clearing;  // no event: the end of the job is one, and so is a long delay
        state_.timer.begin(resize_phase::clearing, now);
    }
}

std::optional<nanoseconds> resize::next_deadline() const noexcept {
    if (state_.phase == resize_phase::steady) return state_.timer.end_of_wait();
    if (state_.phase == resize_phase::queued || state_.phase == resize_phase::over || launch_.is_awaited())
        return std::nullopt;
    return state_.timer.deadline();
}

bool resize::restore(resize_record const& from, bool alive, nanoseconds now) {
    if (!state_.restore(from)) return false;
    alive ? continue_alive(now) : continue_dead(now);
    return true;
}

void resize::continue_alive(nanoseconds now) {
    switch (state_.phase) {
        case resize_phase::saving: return abort("ration was restarted in the middle of it", now);
        case resize_phase::stopping:
        case resize_phase::terminating: return state_.enter(resize_phase::terminating, now);
        case resize_phase::killing:
        case resize_phase::clearing: return state_.enter(resize_phase::killing, now);
        case resize_phase::starting: return launch_.made(now);
        case resize_phase::queued:
        case resize_phase::steady:
        case resize_phase::over: return;
    }
}

void resize::continue_dead(nanoseconds now) {
    if (state_.phase == resize_phase::queued) return;
    if (state_.phase == resize_phase::starting && state_.next.falls_back()) {
        state_.roll_back("it ended while no ration was there", now);
    } else if (state_.phase == resize_phase::starting || state_.phase == resize_phase::saving ||
               state_.phase == resize_phase::steady) {
        state_.next.plan_return();
        state_.devices.want(state_.devices.size());
    }
    state_.enter(resize_phase::clearing, now);
}

}  // namespace ration::program
