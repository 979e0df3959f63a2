// SPDX-License-Identifier: BSL-1.0
// The events of a host: they have to fit the answers, and the order of the lives of jobs.
#include "leak_check.hpp"

namespace leak_check {
namespace {

[[nodiscard]] unsigned long long wide(std::uint64_t number) noexcept { return number; }

[[nodiscard]] known_job* find_job(instance& self, std::uint64_t id) noexcept {
    for (std::size_t i = 0; i < self.job_count; ++i)
        if (self.jobs[i].id == id) return &self.jobs[i];
    return nullptr;
}

/// An instance receives no arrival of a job that existed before the instance. So it checks only events that follow an
/// arrival or an end.
void inspect_life(instance& self, ration_event const& event) noexcept {
    auto* const job = find_job(self, event.id);
    bool const arrives = event.kind == RATION_EV_JOB_ARRIVED;
    bool const ends = event.kind == RATION_EV_JOB_FINISHED || event.kind == RATION_EV_JOB_FAILED;
    if (job != nullptr && job->ended != arrives)
        see(self, 10, "event %u of job %llu, which %s", event.kind, wide(event.id),
            arrives ? "is there already" : "has ended");
    if (job != nullptr)
        job->ended = ends || (job->ended && !arrives);
    else if (arrives || ends)
        if (self.job_count < most_jobs_known) self.jobs[self.job_count++] = {event.id, ends};
}

void discard_received(instance& self) noexcept {
    self.lost = false;
    self.job_count = 0;  // its last answer was given all the same, and events on it may follow
}

void inspect_grant(instance& self, ration_event const& event) noexcept {
    bool const applied = event.kind == RATION_EV_GRANT_APPLIED;
    for (std::size_t i = 0; i < self.answered; ++i) {
        auto& g = self.answer[i];
        if (g.job != event.id || event.a != (std::int64_t{g.row.node} << 16 | g.row.resource) ||
            g.row.amount != event.b)
            continue;
        (applied ? g.applied : g.rejected) = true;
        self.failed |= g.rejected;
        if (auto const* const job = find_job(self, event.id); job != nullptr && job->ended)
            see(self, 10, "event %u of job %llu, which has ended", event.kind, wide(event.id));
        return;
    }
    see(self, 10, "%s for job %llu, %lld, which its last answer did not grant", applied ? "APPLIED" : "REJECTED",
        wide(event.id), static_cast<long long>(event.b));
}

[[nodiscard]] std::uint64_t row_of(instance const& self, ration_tick const& tick, std::uint64_t id) noexcept {
    auto const* const ids = values<std::uint64_t>(tick, RATION_JOBS, self.slot.id);
    std::uint64_t row = 0;
    while (row < tick.table[RATION_JOBS]->n_rows && ids[row] != id) ++row;
    return row;
}

/// A job that has gone or stopped since is not missing: its share has returned to the others.
[[nodiscard]] bool is_missing(instance const& self, ration_tick const& tick, given const& g) noexcept {
    auto const row = row_of(self, tick, g.job);
    if (row == tick.table[RATION_JOBS]->n_rows ||
        values<std::uint32_t>(tick, RATION_JOBS, self.slot.state)[row] != RATION_RUNNING)
        return false;
    return values<std::int64_t>(tick, RATION_JOBS, self.slot.held)[row] != g.row.amount;
}

}  // namespace

void inspect_event(instance& self, ration_event const& event) noexcept {
    if (event.kind == RATION_EV_STATE_LOST) return discard_received(self);
    bool const of_a_job = event.kind >= RATION_EV_JOB_ARRIVED && event.kind <= RATION_EV_JOB_FAILED;
    bool const of_a_grant = event.kind >= RATION_EV_GRANT_APPLIED && event.kind <= RATION_EV_GRANT_FAILED;
    // Of a later host
    if (!of_a_job && !of_a_grant && event.kind != RATION_EV_NODE_UP && event.kind != RATION_EV_NODE_DOWN) return;
    if (event.t_ns < self.last_event)
        see(self, 10, "event %u of time %lld after one of %lld", event.kind, static_cast<long long>(event.t_ns),
            static_cast<long long>(self.last_event));
    self.last_event = event.t_ns;
    if (of_a_job) inspect_life(self, event);
    if (of_a_grant) inspect_grant(self, event);
}

void inspect_last_group(instance& self, ration_tick const& tick) noexcept {
    if (tick.number != self.last_tick + 1) return;  // others have answered since
    for (std::size_t i = 0; i < self.answered; ++i)
        for (std::size_t k = 0; k < self.answered; ++k) {
            auto const &in_effect = self.answer[i], &other = self.answer[k];
            if (in_effect.row.group == 0 || other.row.group != in_effect.row.group || !in_effect.applied) continue;
            if (other.rejected || (!other.applied && is_missing(self, tick, other)))
                return see(self, 11, "group %u: the grant to job %llu was applied, that to job %llu was not",
                           other.row.group, wide(in_effect.job), wide(other.job));
        }
}

}  // namespace leak_check
