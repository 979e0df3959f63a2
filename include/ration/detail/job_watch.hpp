// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private, include "ration/host/engine.hpp"
/// Finds the events of jobs by comparing two jobs tables.
///
/// Used by the engine for policies with `on_events`. Hosts only fill the table; they need not
/// report changes.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/event.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

namespace ration::detail {

/// Compares the jobs of consecutive ticks, for policies that receive events. The end of a job is
/// reported once: when its state changes to an ended one, or when it leaves the table without that.
class job_watch {
    struct seen {
        std::uint64_t id;
        std::uint32_t state;
    };
    buffer<seen> last_, now_;

public:
    /// Allocates for this number of jobs. The jobs that it has seen are kept.
    void prepare(std::size_t jobs) noexcept {
        last_.reserve(jobs);
        now_.reserve(jobs);
    }

    /// Appends the events since the last call. `row` is a row of the last tick's table. O(rows), or
    /// O(changes) for a store whose changes are followed.
    void probe(snapshot_store& store, standard_columns const& columns, nanoseconds now,
               buffer<event>& events) noexcept {
        std::uint64_t const* const ids = store.data(columns.id);
        std::uint32_t const* const states = store.data(columns.state);
        std::size_t const rows = store.rows(table_id::jobs);
        table_changes const& changes = store.changes().of(table_id::jobs);
        if (changes.everything == 0 && changes.moved == 0) return probe_listed(changes, rows, ids, states, now, events);
        std::size_t same = 0;
        // The common case: the same jobs in the same rows. Nothing is copied.
        for (; same < last_.size() && same < rows && last_[same].id == ids[same]; ++same)
            if (last_[same].state != states[same]) {
                emit_changed(same, {ids[same], states[same]}, now, events);
                last_[same].state = states[same];
            }
        probe_from(same, rows, ids, states, now, events);
    }

private:
    /// Compares the rows that have changed; new ones are behind the others.
    void probe_listed(table_changes const& changes, std::size_t rows, std::uint64_t const* ids,
                      std::uint32_t const* states, nanoseconds now, buffer<event>& events) noexcept {
        std::size_t const first = events.size();
        for (std::size_t i = 0; i < changes.count; ++i) {
            std::size_t const row = changes.row[i];
            if (row >= last_.size() || last_[row].state == states[row]) continue;
            emit_changed(row, {ids[row], states[row]}, now, events);
            last_[row].state = states[row];
        }
        sort(events.data() + first, events.size() - first,
             [](event const& a, event const& b) { return a.row < b.row; });
        for (std::size_t row = last_.size(); row < rows; ++row) {
            events.push_back({.kind = event_kind::job_arrived, .id = ids[row], .at = now});
            last_.push_back({ids[row], states[row]});
        }
    }
    /// Compares from row `same` on, where the tables begin to differ. Both are sorted by id, so one
    /// merge pass finds jobs that came and jobs that left.
    void probe_from(std::size_t same, std::size_t rows, std::uint64_t const* ids, std::uint32_t const* states,
                    nanoseconds now, buffer<event>& events) noexcept {
        now_.clear();
        std::size_t old = same;
        for (std::size_t row = same; row < rows; ++row) {
            seen const job{ids[row], states[row]};
            for (; old < last_.size() && last_[old].id < job.id; ++old) emit_gone(old, now, events);
            if (old < last_.size() && last_[old].id == job.id)
                emit_changed(old++, job, now, events);
            else
                events.push_back({.kind = event_kind::job_arrived, .id = job.id, .at = now});
            now_.push_back(job);
        }
        for (; old < last_.size(); ++old) emit_gone(old, now, events);
        last_.resize(same);
        for (auto const& job : now_) last_.push_back(job);
    }

    /// True for a number of the column `jobs/state` of an active job.
    [[nodiscard]] static bool active(std::uint32_t state) noexcept { return is_active(static_cast<job_state>(state)); }

    /// Appends an event about a job of the last table.
    void emit(event_kind kind, std::size_t row, nanoseconds now, buffer<event>& events) const noexcept {
        events.push_back({.kind = kind, .row = static_cast<std::uint32_t>(row), .id = last_[row].id, .at = now});
    }
    /// Reports the end of a job that left the table while it was active.
    void emit_gone(std::size_t row, nanoseconds now, buffer<event>& events) const noexcept {
        if (active(last_[row].state)) emit(event_kind::job_finished, row, now, events);
    }
    /// Reports a change of the state; a job that has ended is not reported a second time.
    void emit_changed(std::size_t row, seen const& job, nanoseconds now, buffer<event>& events) const noexcept {
        if (last_[row].state == job.state || !active(last_[row].state)) return;
        bool const failed = static_cast<job_state>(job.state) == job_state::failed;
        emit(active(job.state) ? event_kind::job_changed
             : failed          ? event_kind::job_failed
                               : event_kind::job_finished,
             row, now, events);
    }
};

}  // namespace ration::detail
