// SPDX-License-Identifier: BSL-1.0
#include "serve/tracked_job.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "common/quantity.hpp"
#include "run/reattachment.hpp"
#include "serve/api.hpp"

namespace ration::program {
namespace {

/// A program that was started runs by then, also if it reports nothing.
constexpr nanoseconds time_to_start = seconds(1);
constexpr std::int64_t first_rest_ms = 1'000, longest_rest_ms = 300'000;

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

void tracked_job::take(progress::report const& reply) noexcept {
    using type = progress::message_type;
    if (reply.type == type::phase) phase = reply.now;
    reported |= reply.type == type::phase || reply.type == type::step || reply.type == type::eval ||
                reply.type == type::checkpoint;
    continues |= reply.type == type::checkpoint || (reply.type == type::hello && !reply.control.empty());
}

bool tracked_job::must_stop(live_job const& live, bool draining, nanoseconds now) {
    if (live.over() || stopping) return false;
    bool const unlaunched = job.now == stage::pending || (job.now == stage::deploying && !live.has_launch());
    withdrawn = draining && unlaunched;
    auto const limit = milliseconds(job.what.time_limit_ms);
    limited = live.alive() && limit.count > 0 && live.launched_at && now - *live.launched_at >= limit;
    pausing = job.paused && !job.cancelled && !limited;
    stopping = limited || job.cancelled || pausing || withdrawn;
    return stopping;
}

std::optional<stage_change> tracked_job::next_change(live_job const& live, std::int64_t step,
                                                     service_folder const& folder, host_failures& failures,
                                                     nanoseconds now) const {
    auto change = change_to(job, job.now);
    change.step = std::max(step, job.step);
    // Until its devices are free, a slot of the run and a place in the record belong to it
    if (live.over() && live.devices != nullptr && live.devices->state().phase == resize_phase::clearing)
        return std::nullopt;
    if (live.over()) return at_end(live, std::move(change), folder, failures);
    if (!live.alive()) return std::nullopt;
    bool const started = reported || now - live.launched_at.value_or(now) >= time_to_start;
    if (!started) return std::nullopt;
    change.to = stage_of(phase, job.now);
    if (change.to == stage::storing && job.now == stage::deploying) change.to = stage::processing;
    if (change.to == job.now) return std::nullopt;
    return change;
}

/// Whether a pause has ended it, or a drain before its launch. A pause of an earlier service may have done so whatever
/// its exit code; one that comes after its end has not.
bool tracked_job::ended_by_pause(live_job const& live) const noexcept {
    if (job.cancelled || limited) return false;
    if (withdrawn) return true;
    return pausing ? live.now == condition::stopped : may_pause && job.paused;
}

stage_change tracked_job::at_end(live_job const& live, stage_change change, service_folder const& folder,
                                 host_failures& failures) const {
    change.why = live.why;
    if (live.has_launch()) change.end = numbers_of(recorded_end_of(job, folder));
    if (live.failed_by_host && !job.cancelled && !limited)
        return queued_again(std::move(change), rest_after(++failures[job.id]));
    if (ended_by_pause(live)) {
        change.to = stage::queued;
        change.why = withdrawn && !job.paused ? "" : "paused";
        change.uncounted = may_have_process(job.now);  // the launch that is noted, also if it was not made
        return change;
    }
    bool const failed = live.now != condition::finished && !job.cancelled;
    if (limited && live.now == condition::stopped)
        change.why = fmt::format("its time limit of {} is over", duration_text(milliseconds(job.what.time_limit_ms)));
    change.to = !failed ? stage::completed : stage::failed;
    if (job.cancelled && live.now != condition::finished) change.to = stage::halted;
    if (job.cancelled && live.now == condition::stopped) change.why = "cancelled";
    bool const unseen = live.why == ended_unseen && has_checkpoint(job, folder);
    bool const again = failed && !limited && (unseen || job.attempts() <= job.what.retries);
    if (!again) return change;
    auto const rest = rest_after(job.attempts());
    change.to = stage::queued;
    change.rest_ms = rest;
    change.why += fmt::format("{}next launch in {} s", change.why.empty() ? "" : "; ", rest / 1000);
    return change;
}

}  // namespace ration::program
