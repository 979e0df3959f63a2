// SPDX-License-Identifier: BSL-1.0
#include "run/resize_state.hpp"

#include <utility>

namespace ration::program {

char const* resize_state::why_not(nanoseconds now) const noexcept {
    if (devices.held().empty()) return "";
    if (*devices.why_frozen() != '\0') return devices.why_frozen();
    if (!can_be_saved()) return "it has neither opened a socket for commands nor reported a checkpoint";
    return rest.is_over(now) ? "" : "its last change failed a short while ago";
}

bool resize_state::is_restarting() const noexcept {
    bool const at_a_start = phase == resize_phase::starting && (next.falls_back() || next.returns());
    return at_a_start || (phase >= resize_phase::stopping && phase <= resize_phase::clearing);
}

bool resize_state::waits_to_grow() const noexcept {
    return devices.wanted() > devices.size() && (phase == resize_phase::queued || phase == resize_phase::steady);
}

std::int64_t resize_state::going_to() const noexcept {
    switch (phase) {
        case resize_phase::saving:
        case resize_phase::stopping:
        case resize_phase::terminating:
        case resize_phase::killing:
        case resize_phase::clearing: return next.size();
        case resize_phase::queued:
        case resize_phase::steady: return devices.wanted();
        case resize_phase::starting:
        case resize_phase::over: break;
    }
    return devices.size();
}

std::int64_t resize_state::coming_from() const noexcept {
    if (phase != resize_phase::starting) return devices.size();
    if (next.falls_back()) return next.old_size();
    return next.returns() ? devices.size() : 0;
}

void resize_state::enter(resize_phase into, nanoseconds now, std::string why) {
    phase = into;
    timer.begin(into, now);
    note(step_of(into), std::move(why));
    if (auto const order = order_of(into)) outbox.order(*order);
}

void resize_state::note(resize_step what, std::string why) {
    outbox.add({what, coming_from(), going_to(), std::move(why), devices.held()});
}

void resize_state::fail(std::int64_t size, std::string why, nanoseconds now) {
    outbox.add({resize_step::failed, size, going_to(), std::move(why), devices.held()});
    devices.want(size);
    timer.end_wait();
    rest.fail(now);
}

void resize_state::roll_back(std::string why, nanoseconds now) {
    fail(next.old_size(), std::move(why), now);
    next.plan_roll_back();
}

void resize_state::queue(nanoseconds now) {
    next.release();
    cost.cancel();
    enter(resize_phase::queued, now);
}

resize_record resize_state::record() const {
    resize_record out{.now = phase,
                      .wanted = devices.wanted(),
                      .holds = devices.held(),
                      .next = {},
                      .origin = {},
                      .control = takes_commands,
                      .has_saved = has_saved,
                      .finishing = is_finishing,
                      .cost = cost.seconds(),
                      .batch = devices.batch()};
    next.add_to(out);
    return out;
}

bool resize_state::restore(resize_record const& from) {
    phase = from.now;
    devices.want(from.wanted);
    devices.want_batch(from.batch);
    devices.hold(from.holds);
    takes_commands = from.control;
    has_saved = from.has_saved;
    is_finishing = from.finishing;
    cost = restart_cost(from.cost);
    return devices.claim(devices.held()) && next.restore(from);
}

}  // namespace ration::program
