// SPDX-License-Identifier: BSL-1.0
#include "serve/job_queue.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "run/reattachment.hpp"
#include "run/run_directory.hpp"
#include "serve/exit_recorder.hpp"
#include "serve/wait_explainer.hpp"

namespace ration::program {
namespace {

/// A program that was started runs by then, also if it reports nothing.
constexpr nanoseconds time_to_start = seconds(1);
constexpr std::int64_t first_rest_ms = 1'000, longest_rest_ms = 300'000, store_rest_ms = 1'000;

void warn(error const& why) { std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(why)).c_str()); }

/// Doubles with each failed launch.
[[nodiscard]] std::int64_t rest_after(std::int64_t attempts) noexcept {
    auto const doublings = std::min<std::int64_t>(attempts - 1, 16);
    return std::min(longest_rest_ms, first_rest_ms << std::max<std::int64_t>(0, doublings));
}

/// After a launch that has failed by an error of the machine, which uses no retry.
[[nodiscard]] stage_change queued_again(stage_change change, std::int64_t rest_ms) {
    change.to = stage::queued;
    change.rest_ms = rest_ms;
    change.uncounted = true;
    change.why += fmt::format("; next launch in {} s", rest_ms / 1000);
    return change;
}

[[nodiscard]] stage stage_of(progress::phase phase, stage now) noexcept {
    if (phase == progress::phase::load && now == stage::deploying) return stage::downloading;
    if (phase == progress::phase::load && now == stage::downloading) return stage::downloading;
    return phase == progress::phase::save ? stage::storing : stage::processing;
}

[[nodiscard]] process_end numbers_of(std::optional<process::exit_report> const& how) {
    using kind = process::exit_report::kind;
    process_end out;
    if (how && how->how == kind::exited) out.exit_code = how->number;
    if (how && how->how == kind::killed) out.signal = how->number;
    return out;
}

}  // namespace

void list_warnings::report(error const& why) {
    auto const now = process::now();
    bool const busy = why.code == errc::busy;
    if (busy && busy_at_ != nanoseconds{} && now - busy_at_ < seconds(60)) return;
    if (busy) busy_at_ = now;
    warn(why);
}

void job_queue::restore(stored_job job) {
    auto const label = label_of(job.what.name, job.id);
    bool const paused = job.paused;
    tracked_.insert_or_assign(label, tracked{.job = std::move(job), .may_pause = paused});
}

std::vector<admitted_job> job_queue::admit(std::size_t slots, nanoseconds now) {
    bool const due = next_ms_ != 0 && read_clocks().boot_ms >= next_ms_;
    if (control_.draining() || (!dirty_ && !due)) return {};
    std::vector<admitted_job> admitted;
    auto const room = std::min(slots, max_running_ - std::min(max_running_, tracked_.size()));
    auto const done = admit_some(room, now, admitted);
    if (done) return admitted;
    warnings_.report(done.failure());
    store_.roll_back();
    for (auto const& one : admitted) tracked_.erase(one.config->name);
    dirty_ = false;
    next_ms_ = read_clocks().boot_ms + store_rest_ms;
    return {};
}

result<void> job_queue::admit_some(std::size_t slots, nanoseconds now, std::vector<admitted_job>& out) {
    dirty_ = false;
    if (auto read = waiting_.refresh(store_, read_clocks()); !read) return read;
    next_ms_ = waiting_.next_ms();
    if (auto failed = fail_lost(); !failed) return failed;
    auto order = start_order_now();
    while (out.size() < slots) {
        auto const next = order.next();
        if (!next) break;
        auto found = store_.find(*next);
        if (!found) return found.failure();
        auto& job = *found;
        if (!job || api_.is_cancelled(job->id)) continue;
        if (auto entered = enter(std::move(*job), now, out); !entered) return entered.failure();
    }
    return store_.commit();
}

start_order job_queue::start_order_now() const {
    std::map<std::string, double> running;
    for (auto const& [label, t] : tracked_) ++running[t.job.what.tenant];
    return waiting_.order(running, [&](std::string_view tenant) { return control_.share_of(tenant); });
}

result<void> job_queue::fail_lost() {
    for (auto const& [id, predecessor] : waiting_.lost()) {
        auto const found = store_.find(id);
        if (!found) return found.failure();
        auto const& job = *found;
        if (!job) continue;
        auto change = change_to(*job, stage::failed);
        change.why = fmt::format("job {}, which it comes after, did not complete", predecessor);
        if (auto moved = store_.advance(change); !moved) return moved.failure();
        dirty_ = true;  // others may come after this one
    }
    return {};
}

result<bool> job_queue::enter(stored_job job, nanoseconds now, std::vector<admitted_job>& into) {
    auto config = job_of(job, folder_, job.incarnation + 1, now);
    if (config != nullptr && !control_.has_devices_for(*config)) return false;
    auto change = change_to(job, config != nullptr ? stage::pending : stage::failed);
    if (config == nullptr)
        change.why = "its definition cannot be read, or its user has no account any more; submit it again";
    if (auto moved = store_.advance(change); !moved) return moved.failure();
    if (config == nullptr) return false;
    job.now = stage::pending;
    into.push_back({std::move(config), static_cast<std::uint32_t>(job.incarnation)});
    restore(std::move(job));
    return true;
}

bool job_queue::may_launch(live_job const& job) {
    auto* const t = tracked_of(job);
    if (t == nullptr || t->stopping || control_.draining()) return false;
    if (t->job.now != stage::pending) return true;  // noted before, as at another launch with other devices
    auto change = change_to(t->job, stage::deploying);
    change.boot = this_boot();
    auto done = store_.advance(change);
    if (done) done = store_.commit();
    if (!done) {
        warnings_.report(done.failure());
        store_.roll_back();
        return false;
    }
    t->job.now = stage::deploying;
    ++t->job.incarnation;
    return true;
}

void job_queue::handle(live_job const& job, progress::report const& reply) {
    auto* const t = tracked_of(job);
    if (t == nullptr) return;
    using type = progress::message_type;
    if (reply.type == type::phase) t->phase = reply.now;
    t->reported |= reply.type == type::phase || reply.type == type::step || reply.type == type::eval ||
                   reply.type == type::checkpoint;
    t->continues |= reply.type == type::checkpoint || (reply.type == type::hello && !reply.control.empty());
}

std::optional<process::exit_report> job_queue::end_of(live_job const& job) const {
    auto const found = tracked_.find(job.config->name);
    // A job that is launched again with other devices has the file of its first launch
    return found == tracked_.end() ? std::nullopt : recorded_end_of(found->second.job, folder_);
}

turn_orders job_queue::take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                 policy_exchange const& exchange, hook_room const& hooks, nanoseconds now) {
    turn_orders orders;
    std::vector<move> moves;
    control_.attach(jobs, exchange);
    bool const changed = receive(jobs, progress, now);
    for (auto const& job : jobs.jobs()) {
        auto* const t = tracked_of(job);
        if (t == nullptr) continue;
        auto const step = static_cast<std::int64_t>(progress[job.slot].step);
        if (auto change = change_of(job, *t, step, now)) moves.push_back({t, std::move(*change)});
    }
    auto const written = write(moves, hooks, orders);
    bool const waits = !written && !changed && written.failure().code == errc::busy;  // no client has changed anything
    if (!written) warnings_.report(written.failure());
    if (!written && !waits) {
        store_.roll_back();
        if (auto read = read_wishes(); !read) warn(read.failure());  // those of this turn are lost
    }
    api_reply const lost{503, error_json(written ? "" : to_text(written.failure()))};
    server_.send(process::now(), written || waits ? nullptr : &lost);
    control_.end_turn(written || waits);
    if (written) api_.forget_cancelled();
    for (auto const& job : jobs.jobs())
        if (auto* const t = tracked_of(job); t != nullptr && must_stop(job, *t, now)) orders.stop.push_back(job.id);
    send_events(jobs, progress);
    if (written) settle(moves, orders, jobs);
    return orders;
}

bool job_queue::receive(job_table const& jobs, std::span<training_progress const> progress, nanoseconds now) {
    wait_explainer const reasons(store_, control_, waiting_, max_running_);
    api_.attach([&](stored_job const& job) {
        return reasons.reason_of(job, {jobs, watched(jobs, progress, 0), now}, start_order_now());
    });
    bool changes = false;
    server_.receive(
        process::now(),
        [&](api_request const& request) {
            if (request.method == "GET" && request.path == running_path)
                return api_reply{
                    200, running_json(jobs, watched(jobs, progress, request.is_admin ? 0 : request.uid), folder_)};
            return api_.answer(request);
        },
        [&] {
            auto const begun = store_.begin();
            changes |= static_cast<bool>(begun);
            return begun || begun.failure().code != errc::busy;
        });
    if (api_.take_changed()) {
        dirty_ = true;
        if (auto read = read_wishes(); !read) warn(read.failure());
    }
    return changes;
}

job_queue::tracked* job_queue::tracked_of(live_job const& job) {
    auto const found = job.forgotten ? tracked_.end() : tracked_.find(job.config->name);
    return found == tracked_.end() ? nullptr : &found->second;
}

void job_queue::handle_change(live_job const& job, std::string_view reason) {
    if (auto* const t = tracked_of(job)) t->reason = reason;
}

std::vector<watched_job> job_queue::watched(job_table const& jobs, std::span<training_progress const> progress,
                                            std::int64_t uid) const {
    std::vector<watched_job> shown;
    for (auto const& job : jobs.jobs()) {
        if (job.forgotten || job.over()) continue;
        auto const found = tracked_.find(job.config->name);
        if (found == tracked_.end() || (uid != 0 && uid != found->second.job.what.uid)) continue;
        shown.push_back({&job, &progress[job.slot], &found->second.job, found->second.reason, found->second.continues});
    }
    return shown;
}

void job_queue::send_events(job_table const& jobs, std::span<training_progress const> progress) {
    auto const now = process::now();
    for (auto& client : server_.take_event_clients()) events_.add(std::move(client), now);
    auto const sent =
        events_.send(now, [&](std::int64_t uid) { return running_json(jobs, watched(jobs, progress, uid), folder_); });
    if (!sent) warn(sent.failure());
}

/// If one change fails, all changes of this turn are lost and tried again.
result<void> job_queue::write(std::vector<move> const& moves, hook_room const& hooks, turn_orders& orders) {
    if (auto noted = api_.write_cancelled(); !noted) return noted;
    for (auto const& [t, change] : moves)
        if (auto moved = store_.advance(change); !moved) return moved;
    auto calls = ends_.take(hooks);
    if (!calls) return calls.failure();
    auto done = store_.commit();
    if (done) orders.hooks = std::move(calls).value();
    return done;
}

void job_queue::settle(std::vector<move> const& moves, turn_orders& orders, job_table const& jobs) {
    for (auto const& [t, change] : moves) {
        t->job.now = change.to;
        if (is_final(change.to) || may_have_process(change.to)) failed_by_host_.erase(t->job.id);
        if (!is_final(change.to) && change.to != stage::queued) continue;
        auto const label = label_of(t->job.what.name, t->job.id);
        remove_end_of(t->job, folder_);
        auto const job = std::ranges::find_if(
            jobs.jobs(), [&](live_job const& one) { return !one.forgotten && one.config->name == label; });
        if (job != jobs.jobs().end()) orders.forget.push_back(job->id);
        tracked_.erase(label);
        dirty_ = true;
    }
}

result<void> job_queue::read_wishes() {
    for (auto& [label, t] : tracked_) {
        t.job.cancelled = t.job.cancelled || api_.is_cancelled(t.job.id);
        auto const found = store_.find(t.job.id);
        if (!found) return found.failure();
        auto const& job = *found;
        if (!job) continue;
        t.job.cancelled = job->cancelled || api_.is_cancelled(t.job.id);
        t.job.paused = job->paused;
    }
    return {};
}

bool job_queue::must_stop(live_job const& job, tracked& t, nanoseconds now) const {
    if (job.over() || t.stopping) return false;
    t.withdrawn = control_.draining() && t.job.now == stage::pending;
    auto const limit = milliseconds(t.job.what.time_limit_ms);
    t.limited = job.alive() && limit.count > 0 && job.launched_at && now - *job.launched_at >= limit;
    t.pausing = t.job.paused && !t.job.cancelled && !t.limited;
    t.stopping = t.limited || t.job.cancelled || t.pausing || t.withdrawn;
    return t.stopping;
}

std::optional<stage_change> job_queue::change_of(live_job const& job, tracked const& t, std::int64_t step,
                                                 nanoseconds now) {
    auto change = change_to(t.job, t.job.now);
    change.step = std::max(step, t.job.step);
    // Until its devices are free, a slot of the run and a place in the record belong to it
    if (job.over() && job.devices != nullptr && job.devices->state().phase == resize_phase::clearing)
        return std::nullopt;
    if (job.over()) return end_of(job, t, std::move(change));
    if (!job.alive()) return std::nullopt;
    bool const started = t.reported || now - job.launched_at.value_or(now) >= time_to_start;
    if (!started) return std::nullopt;
    change.to = stage_of(t.phase, t.job.now);
    if (change.to == stage::storing && t.job.now == stage::deploying) change.to = stage::processing;
    if (change.to == t.job.now) return std::nullopt;
    return change;
}

/// Whether a pause has ended it, or a drain before its launch. A pause of an earlier service may have done so whatever
/// its exit code; one that comes after its end has not.
bool job_queue::tracked::ended_by_pause(live_job const& of) const noexcept {
    if (job.cancelled || limited) return false;
    if (withdrawn) return true;
    return pausing ? of.now == condition::stopped : may_pause && job.paused;
}

stage_change job_queue::end_of(live_job const& job, tracked const& t, stage_change change) {
    change.why = job.why;
    if (job.has_launch()) change.end = numbers_of(end_of(job));
    if (job.failed_by_host && !t.job.cancelled && !t.limited)
        return queued_again(std::move(change), rest_after(++failed_by_host_[t.job.id]));
    if (t.ended_by_pause(job)) {
        change.to = stage::queued;
        change.why = t.withdrawn && !t.job.paused ? "" : "paused";
        change.uncounted = job.has_launch();
        return change;
    }
    bool const failed = job.now != condition::finished && !t.job.cancelled;
    if (t.limited && job.now == condition::stopped)
        change.why = fmt::format("its time limit of {} is over", duration_text(milliseconds(t.job.what.time_limit_ms)));
    change.to = !failed ? stage::completed : stage::failed;
    if (t.job.cancelled && job.now != condition::finished) change.to = stage::halted;
    if (t.job.cancelled && job.now == condition::stopped) change.why = "cancelled";
    bool const unseen = job.why == ended_unseen && has_checkpoint(t.job, folder_);
    bool const again = failed && !t.limited && (unseen || t.job.attempts() <= t.job.what.retries);
    if (!again) return change;
    auto const rest = rest_after(t.job.attempts());
    change.to = stage::queued;
    change.rest_ms = rest;
    change.why += fmt::format("{}next launch in {} s", change.why.empty() ? "" : "; ", rest / 1000);
    return change;
}

void job_queue::interrupted() {
    store_.finish();
    std::fflush(nullptr);
    std::_Exit(0);
}

}  // namespace ration::program
