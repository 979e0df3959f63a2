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

constexpr std::int64_t store_rest_ms = 1'000;

void warn(error const& why) { std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(why)).c_str()); }

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
    tracked_.insert_or_assign(label, tracked_job{.job = std::move(job), .may_pause = paused});
}

nanoseconds job_queue::join(std::vector<pollfd>& fds) const {
    if (store_.commits()) fds.push_back({store_.commit_fd(), POLLIN, 0});
    auto const wake = std::min(server_.join(fds), events_.join(fds));
    return goes_on_ || store_.has_begun() ? nanoseconds{} : wake;
}

std::vector<admitted_job> job_queue::admit(std::size_t slots, nanoseconds now) {
    if (!entering_.empty()) return std::exchange(entering_, {});
    bool const due = next_ms_ != 0 && read_clocks().boot_ms >= next_ms_;
    if (store_.commits() || control_.draining() || (!dirty_ && !due)) return {};
    auto const room = std::min(slots, max_running_ - std::min(max_running_, tracked_.size()));
    if (auto const chosen = admit_some(room, now); !chosen) lose(chosen.failure());
    return {};
}

result<void> job_queue::admit_some(std::size_t slots, nanoseconds now) {
    dirty_ = false;
    if (auto read = waiting_.refresh(store_, read_clocks()); !read) return read;
    next_ms_ = waiting_.next_ms();
    if (auto failed = fail_lost(); !failed) return failed;
    auto order = start_order_now();
    while (batch_.admitted.size() < slots) {
        auto const next = order.next();
        if (!next) break;
        auto found = store_.find(*next);
        if (!found) return found.failure();
        auto& job = *found;
        if (!job || api_.is_cancelled(job->id)) continue;
        if (auto entered = enter(std::move(*job), now); !entered) return entered;
    }
    return {};
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

result<void> job_queue::enter(stored_job job, nanoseconds now) {
    auto config = job_of(job, folder_, job.incarnation + 1, now);
    if (config != nullptr && !control_.has_devices_for(*config)) return {};
    auto change = change_to(job, config != nullptr ? stage::pending : stage::failed);
    if (config == nullptr)
        change.why = "its definition cannot be read, or its user has no account any more; submit it again";
    if (auto moved = store_.advance(change); !moved || config == nullptr) return moved;
    job.now = stage::pending;
    batch_.admitted.push_back({std::move(config), static_cast<std::uint32_t>(job.incarnation)});
    restore(std::move(job));
    return {};
}

/// Notes the launch, which may be made once that is durable.
bool job_queue::may_launch(live_job const& job) {
    auto* const t = tracked_of(job);
    if (t == nullptr || t->stopping || control_.draining()) return false;
    if (t->job.now != stage::pending) return true;  // noted before, as at another launch with other devices
    if (store_.commits() || batch_.has(*t) || process::now() < retry_at_) return false;
    auto change = change_to(t->job, stage::deploying);
    change.boot = this_boot();
    if (auto const noted = store_.advance(change); !noted)
        lose(noted.failure());
    else
        batch_.moves.push_back({t, std::move(change)});
    return false;
}

void job_queue::handle(live_job const& job, progress::report const& reply) {
    if (auto* const t = tracked_of(job)) t->take(reply);
}

std::optional<process::exit_report> job_queue::end_of(live_job const& job) const {
    auto const found = tracked_.find(job.config->name);
    // A job that is launched again with other devices has the file of its first launch
    return found == tracked_.end() ? std::nullopt : recorded_end_of(found->second.job, folder_);
}

turn_orders job_queue::take_turn(job_table const& jobs, std::span<training_progress const> progress,
                                 policy_exchange const& exchange, hook_room const& hooks, nanoseconds now) {
    turn_orders orders;
    control_.attach(jobs, exchange);
    goes_on_ = false;
    if (auto const done = store_.take_committed()) end_commit(*done, orders, jobs);
    bool const changed = receive(jobs, progress, now);
    if (!store_.commits() && (store_.has_begun() || process::now() >= retry_at_)) {
        auto const written = write(jobs, progress, hooks, orders, now);
        if (written)
            store_.start_commit();
        else if (!changed && written.failure().code == errc::busy)
            warnings_.report(written.failure());  // no client has changed anything
        else
            lose(written.failure());
    }
    server_.send(process::now());
    for (auto const& job : jobs.jobs()) {
        auto* const t = tracked_of(job);
        if (t == nullptr) continue;
        t->job.cancelled = t->job.cancelled || api_.is_cancelled(t->job.id);
        if (t->must_stop(job, control_.draining(), now)) orders.stop.push_back(job.id);
    }
    send_events(jobs, progress);
    return orders;
}

bool job_queue::receive(job_table const& jobs, std::span<training_progress const> progress, nanoseconds now) {
    api_.attach([&](job_list& list, stored_job const& job) {
        wait_explainer const reasons(list, control_, waiting_, max_running_);
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
    asked_ = asked_ || api_.take_changed();
    return changes;
}

tracked_job* job_queue::tracked_of(live_job const& job) {
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
result<void> job_queue::write(job_table const& jobs, std::span<training_progress const> progress,
                              hook_room const& hooks, turn_orders const& orders, nanoseconds now) {
    if (auto noted = api_.write_cancelled(); !noted) return noted;
    for (auto const& job : jobs.jobs()) {
        auto* const t = tracked_of(job);
        if (t == nullptr || batch_.has(*t)) continue;
        auto const step = static_cast<std::int64_t>(progress[job.slot].step);
        auto change = t->next_change(job, step, folder_, failures_, now);
        if (!change) continue;
        if (auto moved = store_.advance(*change); !moved) return moved;
        batch_.moves.push_back({t, std::move(*change)});
    }
    if (!orders.hooks.empty()) return {};  // they start first, in the same room
    auto calls = ends_.take(hooks);
    if (!calls) return calls.failure();
    batch_.hooks = std::move(calls).value();
    return {};
}

void job_queue::end_commit(result<void> const& done, turn_orders& orders, job_table const& jobs) {
    goes_on_ = true;
    if (!done) return lose(done.failure());
    retry_at_ = {};
    server_.settle(process::now(), nullptr);
    control_.end_commit(true);
    api_.forget_cancelled();
    settle(orders, jobs);
    orders.hooks = std::move(batch_.hooks);
    entering_ = std::move(batch_.admitted);
    batch_ = {};
    if (!std::exchange(asked_, false)) return;
    dirty_ = true;
    if (auto read = read_wishes(); !read) warn(read.failure());
}

/// All changes since the last commit. Those that clients have not asked for are tried again after a moment, so that a
/// disk that fails does not keep the loop busy.
void job_queue::lose(error const& why) {
    warnings_.report(why);
    store_.roll_back();
    for (auto const& one : batch_.admitted) tracked_.erase(one.config->name);
    batch_ = {};
    dirty_ = false;
    next_ms_ = read_clocks().boot_ms + store_rest_ms;
    retry_at_ = process::now() + milliseconds(store_rest_ms);
    if (auto read = read_wishes(); !read) warn(read.failure());  // those of clients are lost, except cancellations
    api_reply const lost{503, error_json(to_text(why))};
    server_.settle(process::now(), &lost);
    control_.end_commit(false);
}

void job_queue::settle(turn_orders& orders, job_table const& jobs) {
    for (auto const& [t, change] : batch_.moves) {
        t->job.now = change.to;
        if (change.to == stage::deploying) ++t->job.incarnation;
        if (change.to > stage::deploying) failures_.erase(t->job.id);  // it was started
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
        auto const found = store_.find(t.job.id);
        if (!found) return found.failure();
        auto const& job = *found;
        if (!job) continue;
        t.job.cancelled = job->cancelled || api_.is_cancelled(t.job.id);
        t.job.paused = job->paused;
    }
    return {};
}

void job_queue::interrupted() {
    store_.finish();
    std::fflush(nullptr);
    std::_Exit(0);
}

}  // namespace ration::program
