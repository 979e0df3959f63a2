// SPDX-License-Identifier: BSL-1.0
#include "run/resize.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "common/quantity.hpp"

namespace ration::program {

resize::resize(job_id job, device_table& table, resize_rules const& rules, double first_cost)
    : job_(job), table_(&table), rules_(rules) {
    s_.cost = first_cost;
}

char const* resize::why_not(nanoseconds now) const noexcept {
    if (s_.holds.empty()) return "";
    if (*table_->why_frozen() != '\0') return table_->why_frozen();
    if (!can_be_saved()) return "it has neither said where it takes commands nor reported a checkpoint";
    return now < rest_until_ ? "its last change failed a short while ago" : "";
}

bool resize::is_restarting() const noexcept {
    bool const at_a_start = s_.now == resize_phase::starting && (s_.falls_back || s_.returning);
    return at_a_start || (s_.now >= resize_phase::stopping && s_.now <= resize_phase::clearing);
}

bool resize::waits_to_grow() const noexcept {
    return s_.wanted > size() && (s_.now == resize_phase::queued || s_.now == resize_phase::steady);
}

std::int64_t resize::going_to() const noexcept {
    switch (s_.now) {
        case resize_phase::saving:
        case resize_phase::stopping:
        case resize_phase::terminating:
        case resize_phase::killing:
        case resize_phase::clearing: return static_cast<std::int64_t>(s_.next.size());
        case resize_phase::queued:
        case resize_phase::steady: return s_.wanted;
        default: return size();
    }
}

std::int64_t resize::coming_from() const noexcept {
    if (s_.now != resize_phase::starting) return size();
    return s_.falls_back ? static_cast<std::int64_t>(s_.origin.size()) : s_.returning ? size() : 0;
}

void resize::note(resize_step what, std::string why) {
    notes_.push_back({what, coming_from(), going_to(), std::move(why), s_.holds});
}

void resize::enter(resize_phase next, nanoseconds deadline, std::string why) {
    s_.now = next;
    deadline_ = deadline;
    stuck_reported_ = false;
    note(step_of(next), std::move(why));
}

void resize::advance(nanoseconds now) {
    seen_ = now;
    if (s_.now == resize_phase::queued) return start_queued(now);
    if (s_.now == resize_phase::steady) return advance_steady(now);
    bool const ends = s_.finishing && (s_.now == resize_phase::starting || s_.now == resize_phase::saving);
    if (s_.now == resize_phase::over || awaits_launch() || now < deadline_ || ends) return;
    switch (s_.now) {
        case resize_phase::saving:
            return abort_resize(
                fmt::format("it has reported no checkpoint within {}", duration_text(rules_.deadlines.save)), now);
        case resize_phase::stopping: return terminate(now);
        case resize_phase::terminating: return kill(now);
        case resize_phase::starting:
            if (received_ || !s_.falls_back) return settle();
            return roll_back(fmt::format("it has not said hello within {}", duration_text(rules_.deadlines.start)),
                             now);
        default: break;  // killing and clearing: whatever holds on to the devices keeps them, and people are told
    }
    if (!std::exchange(stuck_reported_, true))
        note(resize_step::stuck, s_.now == resize_phase::killing
                                     ? "it cannot be killed; its devices stay reserved"
                                     : "something still uses its devices, or may; they stay reserved");
    if (s_.now == resize_phase::killing) order(resize_order::kill);
    deadline_ = now + rules_.terminate;
}

void resize::start_queued(nanoseconds now) {
    if (s_.wanted <= 0 || s_.finishing || now < rest_until_) return;
    s_.holds = table_->take(job_, s_.wanted);
    if (s_.holds.empty()) return;
    s_.falls_back = false;
    launch(now);
}

void resize::advance_steady(nanoseconds now) {
    // One that was cordoned is left as soon as may be
    auto const keeps = static_cast<std::int64_t>(table_->devices().sound(s_.holds).size());
    if ((s_.wanted == size() && keeps == size()) || s_.finishing) return waits_.reset();
    if (!can_change(now)) return;
    if (s_.wanted - keeps <= table_->free(job_)) return begin(now);
    if (s_.wanted <= size()) return waits_.reset();  // the policy hears of it by what there is to share
    if (!waits_) {
        waits_ = now;
        note(resize_step::waiting, "for devices that others give back");
    } else if (now - *waits_ >= rules_.wait) {
        fail(size(), fmt::format("no devices became free within {}", duration_text(rules_.wait)), now);
    }
}

void resize::begin(nanoseconds now) {
    waits_.reset();
    s_.next = table_->change(job_, table_->devices().sound(s_.holds), s_.wanted);
    cost_from_ = now;
    if (!s_.control) return terminate(now);  // it saves by itself now and then, and on SIGTERM if it likes
    enter(resize_phase::saving, now + rules_.deadlines.save);
    order(resize_order::save);
}

void resize::checkpoint(bool ok, nanoseconds now) {
    s_.has_saved = s_.has_saved || ok;
    if (s_.now != resize_phase::saving || s_.finishing) return;
    if (!ok) return abort_resize("its checkpoint failed", now);
    enter(resize_phase::stopping, now + rules_.deadlines.stop);
    order(resize_order::stop);
}

void resize::command_failed(std::string why, nanoseconds now) {
    if (s_.finishing) return;
    if (s_.now == resize_phase::saving) abort_resize(std::move(why), now);
    if (s_.now == resize_phase::stopping) terminate(now);
}

void resize::terminate(nanoseconds now) {
    enter(resize_phase::terminating, now + rules_.terminate);
    order(resize_order::terminate);
}

void resize::kill(nanoseconds now) {
    enter(resize_phase::killing, now + rules_.terminate);
    order(resize_order::kill);
}

exit_meaning resize::exited(bool clean, bool done, nanoseconds now) {
    if (loses_a_device(clean)) {
        s_.next = s_.holds;
        s_.returning = true;
        enter(resize_phase::clearing, now + rules_.clear, "it ended with a device that was cordoned");
        return exit_meaning::part_of_resize;
    }
    if (s_.finishing || s_.now == resize_phase::steady || s_.now == resize_phase::queued ||
        s_.now == resize_phase::over)
        return exit_meaning::job_is_over;
    bool const asked = s_.now != resize_phase::starting && s_.now != resize_phase::saving;
    if (clean && (done || !asked)) return exit_meaning::job_is_over;  // it came to its own end meanwhile
    if (s_.now == resize_phase::starting) {
        if (!survives_its_start("it ended at its start", now)) return exit_meaning::job_is_over;
    } else if (s_.now == resize_phase::saving) {
        fail(size(), "it ended while it saved", now);
        s_.next = s_.holds;
        s_.returning = true;
    }
    enter(resize_phase::clearing, now + rules_.clear);
    return exit_meaning::part_of_resize;
}

/// Whether its end is that of one of its devices, and there is a checkpoint to go on from.
bool resize::loses_a_device(bool clean) const noexcept {
    return !clean && outlives_a_device() && table_->devices().sound(s_.holds).size() != s_.holds.size();
}

/// Others take the place of devices that were cordoned meanwhile, as far as there are any.
void resize::replace_lost() {
    auto const kept = table_->devices().sound(s_.next);
    auto const most = static_cast<std::int64_t>(kept.size()) + table_->free(job_);
    s_.next = table_->change(job_, kept, std::min(static_cast<std::int64_t>(s_.next.size()), most));
}

/// A process that ended before it had settled. Where it was to: what it falls back on; if there is nothing, it gets
/// three tries more, unless it has never trained: then its end is its own doing.
bool resize::survives_its_start(std::string why, nanoseconds now) {
    if (s_.falls_back) {
        fail(static_cast<std::int64_t>(s_.origin.size()), std::move(why), now);
        s_.next = s_.origin;
        s_.returning = true;
        return true;
    }
    constexpr int most_deaths = 3;
    if (!(s_.returning || s_.has_saved) || ++deaths_ > most_deaths) return false;
    s_.next = s_.returning ? s_.holds : device_list{};
    if (!s_.returning) fail(0, std::move(why), now);
    return true;
}

void resize::cleared(nanoseconds now) {
    if (s_.now != resize_phase::clearing) return;
    if (s_.finishing) return ended(true, now);
    replace_lost();
    if (s_.next.empty()) return queue(now);
    s_.falls_back = !s_.returning;
    if (s_.falls_back) s_.origin = s_.holds;
    s_.holds = std::exchange(s_.next, {});
    launch(now);
}

void resize::queue(nanoseconds now) {
    table_->release(job_);
    s_.holds.clear();
    s_.next.clear();
    s_.origin.clear();
    s_.falls_back = s_.returning = false;
    cost_from_.reset();
    enter(resize_phase::queued, now);
}

void resize::launch(nanoseconds now) {
    launched_ = received_ = verified_ = false;
    enter(resize_phase::starting, now);
    order(resize_order::launch);
}

void resize::launched(nanoseconds now) {
    launched_ = true;
    deadline_ = now + rules_.deadlines.start;
}

void resize::replace_before_launch(nanoseconds now) {
    if (!awaits_launch() || table_->devices().sound(s_.holds).size() == s_.holds.size()) return;
    s_.next = s_.holds;
    replace_lost();
    if (s_.next.empty()) return queue(now);
    s_.holds = std::exchange(s_.next, {});
    note(step_of(s_.now), "a device was cordoned before the launch");
}

void resize::launch_failed(std::string why, nanoseconds now) {
    why_ = why;
    if (!survives_its_start(std::move(why), now)) return order(resize_order::refuse);
    enter(resize_phase::clearing, now + rules_.clear);
}

std::string resize::wrong_world(std::uint32_t world) const {
    auto const ranks = table_->devices().ranks(s_.holds);
    return world == 0 || world == ranks
               ? ""
               : fmt::format("it says that it has {} ranks on {} device{}", world, ranks, ranks == 1 ? "" : "s");
}

std::string resize::wrong_devices(std::string_view devices) const {
    if (!devices.empty() && devices != table_->devices().seen(s_.holds))
        return fmt::format("it sees the devices {} and was given {}", devices, table_->devices().seen(s_.holds));
    return {};
}

bool resize::is_at_work() const noexcept {
    return !s_.finishing && !awaits_launch() &&
           (s_.now == resize_phase::starting || s_.now == resize_phase::steady || s_.now == resize_phase::saving);
}

void resize::hello(bool control, std::uint32_t world, std::string_view devices, nanoseconds now) {
    s_.control = control;
    if (!is_at_work()) return;
    if (auto fault = wrong_devices(devices); !fault.empty()) return object(std::move(fault), now);
    if (s_.now != resize_phase::starting || received_) return;
    if (auto fault = wrong_world(world); !fault.empty()) {
        // A script that does not start a rank for each device is wrong about its speed, not about whose devices it
        // uses.
        if (s_.falls_back) return object(std::move(fault), now);
        note(resize_step::unverified, std::move(fault));
    }
    received_ = true;
    // It sees the GPU; whether it keeps to its share is found out later
    verified_ = !devices.empty() && !table_->devices().has_shares();
    if (devices.empty()) note(resize_step::unverified, "it does not say which devices it sees");
    deadline_ = now + rules_.deadlines.start;
    if (!s_.falls_back && !s_.returning) settle();  // its end would be its own doing: there is nothing to wait for
}

void resize::hello_of(std::uint32_t rank, std::string_view devices, nanoseconds now) {
    if (!is_at_work()) return;
    auto const given = ',' + table_->devices().seen(s_.holds) + ',';
    while (!devices.empty()) {
        auto const name = devices.substr(0, devices.find(','));
        if (given.find(fmt::format(",{},", name)) == std::string::npos)
            return object(fmt::format("its rank {} sees the device {} and was given {}", rank, name,
                                      table_->devices().seen(s_.holds)),
                          now);
        devices.remove_prefix(std::min(devices.size(), name.size() + 1));
    }
}

/// It is not where it was meant to be: back to its old devices, or to its end where there are none to go back to.
void resize::object(std::string why, nanoseconds now) {
    if (s_.now == resize_phase::starting && s_.falls_back) return roll_back(std::move(why), now);
    why_ = std::move(why);
    order(resize_order::refuse);
}

void resize::stepped(nanoseconds now) {
    if (s_.now == resize_phase::starting && launched_) settle();
    if (s_.now != resize_phase::steady || !cost_from_) return;
    s_.cost = to_seconds(now - *cost_from_);
    cost_from_.reset();
}

void resize::settle() {
    table_->keep_only(job_, s_.holds);
    bool const came_back = std::exchange(s_.returning, false);
    if (!came_back) failures_ = 0;
    deaths_ = 0;
    auto const from = coming_from();
    s_.now = resize_phase::steady;
    notes_.push_back({came_back ? resize_step::restored : resize_step::settled, came_back ? size() : from, size(),
                      verified_ ? "verified" : "", s_.holds});
    s_.origin.clear();
    s_.next.clear();
    s_.falls_back = false;
}

/// Before anything was stopped.
void resize::abort_resize(std::string why, nanoseconds now) {
    order(resize_order::go);
    s_.next.clear();
    table_->keep_only(job_, s_.holds);
    cost_from_.reset();
    s_.now = resize_phase::steady;
    fail(size(), std::move(why), now);
}

void resize::roll_back(std::string why, nanoseconds now) {
    fail(static_cast<std::int64_t>(s_.origin.size()), std::move(why), now);
    s_.next = s_.origin;
    s_.returning = true;
    kill(now);
}

void resize::fail(std::int64_t stays_at, std::string why, nanoseconds now) {
    notes_.push_back({resize_step::failed, stays_at, s_.now == resize_phase::steady ? s_.wanted : going_to(),
                      std::move(why), s_.holds});
    s_.wanted = stays_at;
    waits_.reset();
    rest_until_ = now + nanoseconds{rules_.back_off.count << std::min(failures_, 4)};
    ++failures_;
}

/// Not its own failure: it may grow as soon as there is something to take.
void resize::give_up_waiting(std::string why) {
    if (!waits_to_grow()) return;
    notes_.push_back({resize_step::failed, size(), s_.wanted, std::move(why), s_.holds});
    s_.wanted = size();
    waits_.reset();
}

void resize::ended(bool clean, nanoseconds now) {
    s_.finishing = true;
    s_.wanted = 0;
    s_.next.clear();
    s_.origin.clear();
    if (clean) {
        table_->release(job_);
        s_.holds.clear();
        s_.now = resize_phase::over;
    } else {
        s_.now = resize_phase::clearing;  // untold: the end of the job is told, and so is what takes long
        deadline_ = now + rules_.clear;
        stuck_reported_ = false;
    }
}

std::optional<nanoseconds> resize::next_deadline() const noexcept {
    if (s_.now == resize_phase::steady) return waits_ ? std::optional(*waits_ + rules_.wait) : std::nullopt;
    if (s_.now == resize_phase::queued || s_.now == resize_phase::over || awaits_launch()) return std::nullopt;
    return deadline_;
}

bool resize::restore(resize_state const& from, bool alive, nanoseconds now) {
    s_ = from;
    for (auto const* const devices : {&s_.holds, &s_.next, &s_.origin})
        if (!table_->claim(job_, *devices)) return false;
    if (alive) {
        if (s_.now == resize_phase::saving) abort_resize("ration was started anew in the middle of it", now);
        if (s_.now == resize_phase::stopping || s_.now == resize_phase::terminating) terminate(now);
        if (s_.now == resize_phase::killing || s_.now == resize_phase::clearing) kill(now);
        if (s_.now == resize_phase::starting) launched(now);
        return true;
    }
    if (s_.now == resize_phase::queued) return true;
    if (s_.now == resize_phase::starting && s_.falls_back) {
        fail(static_cast<std::int64_t>(s_.origin.size()), "it ended while no ration was there", now);
        s_.next = s_.origin;
    } else if (s_.now == resize_phase::starting || s_.now == resize_phase::saving || s_.now == resize_phase::steady) {
        s_.next = s_.holds;
        s_.wanted = size();
    }
    s_.returning = s_.returning || s_.now == resize_phase::starting || s_.now == resize_phase::saving ||
                   s_.now == resize_phase::steady;
    enter(resize_phase::clearing, now + rules_.clear);
    return true;
}

}  // namespace ration::program
