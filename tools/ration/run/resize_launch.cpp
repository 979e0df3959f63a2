// SPDX-License-Identifier: BSL-1.0
#include "run/resize_launch.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "common/quantity.hpp"

namespace ration::program {

void resize_launch::order(nanoseconds now) {
    stage_ = stage::ordered;
    state_.enter(resize_phase::starting, now);
}

bool resize_launch::is_awaited() const noexcept {
    return state_.phase == resize_phase::starting && stage_ == stage::ordered && !state_.is_finishing;
}

void resize_launch::replace_cordoned(nanoseconds now) {
    if (!is_awaited() || !state_.devices.has_cordoned()) return;
    if (!state_.next.replace_held()) return state_.queue(now);
    state_.note(step_of(state_.phase), "a device was cordoned before the launch");
}

void resize_launch::made(nanoseconds now) {
    stage_ = stage::made;
    state_.timer.allow_start(now);
}

void resize_launch::failed(std::string why, nanoseconds now) {
    if (!ended(why, now)) return state_.outbox.refuse(std::move(why));
    state_.enter(resize_phase::clearing, now);
}

std::string resize_launch::wrong_world(std::uint32_t world) const {
    auto const everywhere = state_.timer.rules().world;
    auto const here = static_cast<std::int64_t>(state_.devices.all().ranks(state_.devices.held()));
    auto const ranks = everywhere > 0 ? everywhere : here;
    return world == 0 || world == ranks
               ? ""
               : fmt::format("it reports {} ranks on {} device{}", world, ranks, ranks == 1 ? "" : "s");
}

std::string resize_launch::wrong_devices(std::string_view devices) const {
    auto const given = state_.devices.all().seen(state_.devices.held());
    if (devices.empty() || devices == given) return {};
    return fmt::format("it sees the devices {} and was given {}", devices, given);
}

bool resize_launch::is_at_work() const noexcept {
    return !state_.is_finishing && !is_awaited() &&
           (state_.phase == resize_phase::starting || state_.phase == resize_phase::steady ||
            state_.phase == resize_phase::saving);
}

void resize_launch::hello(bool takes_commands, std::uint32_t world, std::string_view devices, nanoseconds now) {
    state_.takes_commands = takes_commands;
    if (!is_at_work()) return;
    if (auto fault = wrong_devices(devices); !fault.empty()) return reject(std::move(fault), now);
    if (stage_ >= stage::received) return;
    if (state_.phase != resize_phase::starting) {
        stage_ = stage::received;  // later than the deadline
        return;
    }
    if (auto fault = wrong_world(world); !fault.empty()) {
        // A script that does not start a rank for each device is wrong about its speed, not about whose devices it
        // uses.
        if (state_.next.falls_back()) return reject(std::move(fault), now);
        state_.note(resize_step::unverified, std::move(fault));
    }
    // It sees the GPU; whether it keeps to its share is found out later
    bool const is_verified = !devices.empty() && !state_.devices.all().has_shares();
    stage_ = is_verified ? stage::verified : stage::received;
    if (devices.empty()) state_.note(resize_step::unverified, "it does not say which devices it sees");
    state_.timer.allow_start(now);
    // Its end would be its own doing: there is nothing to wait for
    if (!state_.next.falls_back() && !state_.next.returns()) settle();
}

void resize_launch::hello_of(std::uint32_t rank, std::string_view devices, nanoseconds now) {
    if (!is_at_work()) return;
    auto const seen = state_.devices.all().seen(state_.devices.held());
    auto const given = ',' + seen + ',';
    while (!devices.empty()) {
        auto const name = devices.substr(0, devices.find(','));
        if (given.find(fmt::format(",{},", name)) == std::string::npos)
            return reject(fmt::format("its rank {} sees the device {} and was given {}", rank, name, seen), now);
        devices.remove_prefix(std::min(devices.size(), name.size() + 1));
    }
}

/// It is not where it was meant to be: back to its old devices, or to its end where there are none to go back to.
void resize_launch::reject(std::string why, nanoseconds now) {
    if (state_.phase != resize_phase::starting || !state_.next.falls_back())
        return state_.outbox.refuse(std::move(why));
    state_.roll_back(std::move(why), now);
    state_.enter(resize_phase::killing, now);
}

void resize_launch::stepped(nanoseconds now) {
    if (stage_ == stage::made) stage_ = stage::received;
    if (state_.phase == resize_phase::starting && stage_ != stage::ordered) settle();
    if (state_.phase == resize_phase::steady) state_.cost.end(now);
}

void resize_launch::time_out(nanoseconds now) {
    if (stage_ >= stage::received || !state_.next.falls_back()) return settle();
    auto const limit = state_.timer.rules().deadlines.start;
    reject(fmt::format("it has not sent its first message within {}", duration_text(limit)), now);
}

bool resize_launch::ended(std::string why, nanoseconds now) {
    if (state_.next.falls_back()) {
        state_.roll_back(std::move(why), now);
        return true;
    }
    constexpr int most_failed_starts = 3;
    bool const has_trained = state_.next.returns() || state_.has_saved;
    if (!has_trained || ++failed_starts_ > most_failed_starts) return false;
    state_.next.plan_retry();
    if (!state_.next.returns()) state_.fail(0, std::move(why), now);
    return true;
}

void resize_launch::settle() {
    auto const from = state_.coming_from(), size = state_.devices.size();
    bool const has_returned = state_.next.settle();
    if (!has_returned) state_.rest.succeed();
    failed_starts_ = 0;
    state_.phase = resize_phase::steady;
    state_.outbox.add({has_returned ? resize_step::restored : resize_step::settled, has_returned ? size : from, size,
                       stage_ == stage::verified ? "verified" : "", state_.devices.held()});
}

}  // namespace ration::program
