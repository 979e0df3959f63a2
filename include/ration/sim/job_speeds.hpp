// SPDX-License-Identifier: BSL-1.0
/// The speed of each live job, and the event at its end.
///
/// Part of simulation.hpp. All other parts call `bring_up` before they change a job, and `set`
/// afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ration/sim/allocation.hpp>
#include <ration/sim/backend.hpp>
#include <ration/sim/cpu_sharing.hpp>
#include <ration/sim/event_queue.hpp>
#include <ration/sim/item_reads.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/node_states.hpp>

namespace ration::sim {

/// Asks a job's model for its speed when its allocation may have changed, and schedules the end of
/// that speed.
class job_speeds {
    workload const& workload_;
    snapshot_store& store_;
    sim_columns const& columns_;
    live_jobs& live_;
    ledger const& holdings_;
    node_states const& nodes_;
    event_queue& queue_;
    item_reads reads_;
    held_devices held_;

public:
    /// All arguments have to outlive the object.
    job_speeds(workload const& jobs, snapshot_store& store, sim_columns const& columns, live_jobs& live,
               ledger const& holdings, node_states const& nodes, event_queue& queue,
               std::optional<item_cache_options> const& cache)
        : workload_(jobs), store_(store), columns_(columns), live_(live), holdings_(holdings), nodes_(nodes),
          queue_(queue), reads_(jobs, cache) {}

    /// The present allocation of a job; valid until the next call of any member.
    [[nodiscard]] held_devices const& held(std::size_t row) noexcept {
        held_.read(holdings_.of({live_.id(row)}), store_[columns_.get<"nodes/type">()], nodes_.speeds());
        return held_;
    }

    /// Records the steps that the job has made so far, before its speed changes. The rest of a
    /// restart continues.
    void bring_up(std::size_t row, nanoseconds now) noexcept {
        live_job& job = live_[row];
        save_times const saves = live_.saves_of(row);
        job.saved = job.saved_at(now, saves);
        job.saved_then = job.saved_last(now, saves);
        double const before = job.done;
        job.done = live_.steps_at(row, now);
        reads_.count(live_.description(row), job.done - before, job.rate, job.full_rate);
        if (job.since < now) job.since = now;
    }

    /// Sets the job back to its last checkpoint. Returns the seconds of work that are lost.
    double lose_unsaved(std::size_t row, nanoseconds now) noexcept {
        live_job& job = live_[row];
        double const in_vain = to_seconds(now - job.saved_last(now, live_.saves_of(row)));
        bring_up(row, now);
        job.done = job.saved;
        return in_vain;
    }

    /// Takes the interval of checkpoints that a policy has set for the job, in milliseconds.
    void take_save_interval(std::size_t row, nanoseconds now) noexcept {
        constexpr std::int64_t a_century = 3'155'760'000'000;  // in ms: as long as a run can be
        nanoseconds every{0};
        for (auto const& h : holdings_.of({live_.id(row)}))
            if (h.what.resource == save_interval_number)
                every = milliseconds(h.what.amount < a_century ? h.what.amount : a_century);
        live_job& job = live_[row];
        if (every == job.save_every) return;
        bring_up(row, now);
        save_times const before = live_.saves_of(row);
        job.save_every = every;
        if (now > job.began) job.began = now - before.moved_to(live_.saves_of(row), now - job.began);
        set(row, now);
    }

    /// Computes the speed of a job, and schedules its end. Precondition: `done` is right for
    /// `since`.
    void set(std::size_t row, nanoseconds now) noexcept {
        live_job& job = live_[row];
        job_description const& described = live_.description(row);
        // Events of the former speed are void from here on.
        ++job.version;
        speed_segment p;
        if (job.devices > 0 || job.cores > 0) {
            allocation holds = held(row).view();
            holds.cores = job.cores;
            holds.shares_node = job.shares_node;
            if (job.cores > 0) holds.slowest = nodes_.speeds()[cpu_node_of(holdings_.of({live_.id(row)}))];
            p = workload_.models[described.model]->at(described, holds, job.done);
        }
        job.full_rate = p.steps_per_second;
        job.rate = reads_.limited(described, job.full_rate, now);
        job.until = p.until < described.length ? p.until : described.length;
        store_.at(columns_.standard.measured_steps_per_second, row) = job.rate;
        store_.at(columns_.of(resource_id::gpu).used, row) = static_cast<double>(job.devices);
        live_.mark(row, 0);
        if (!(job.rate > 0)) return;
        nanoseconds const from = job.since < now ? now : job.since;
        double const left = (job.until - job.done) / job.rate;
        queue_.push({.at = job.end_of(from, time_of(left), live_.saves_of(row)),
                     .what = event_class::job_phase,
                     .subject = static_cast<std::uint32_t>(live_.id(row)),
                     .version = job.version,
                     .row = static_cast<std::uint32_t>(row)});
    }

    /// The time of the next choice of data sets for the cache; in the distant future without one.
    [[nodiscard]] nanoseconds next_round() const noexcept { return reads_.next(); }
    /// Chooses them if that time has come, and changes the speeds of their readers. O(rows).
    void choose_items(nanoseconds now) {
        if (now < reads_.next()) return;
        reads_.begin_round();
        for (std::size_t row = 0; row < live_.rows(); ++row)
            if (live_.is_active(row)) reads_.add_reader(live_.description(row), live_[row].full_rate);
        for (std::size_t row = 0; row < live_.rows(); ++row)
            if (live_.is_active(row)) bring_up(row, now);  // while the data sets of the last round count
        reads_.finish_round(now);
        for (std::size_t row = 0; row < live_.rows(); ++row)
            if (live_.is_active(row) && reads_.has_changed(live_.description(row))) set(row, now);
    }
    /// What each tenant has read; empty without a cache.
    [[nodiscard]] std::vector<tenant_reads> const& reads() const noexcept { return reads_.by_tenant(); }

    /// Reads what the next event will need into the cache: jobs end in random order.
    void prefetch_next() const noexcept {
        if (queue_.empty() || queue_.next().what != event_class::job_phase) return;
        std::size_t const row = queue_.next().row;
        if (row >= live_.rows()) return;
        auto const* const job = reinterpret_cast<std::byte const*>(&live_[row]);
        for (std::size_t line = 0; line < sizeof(live_job); line += 64) __builtin_prefetch(job + line);
        __builtin_prefetch(&live_.description(row));
        __builtin_prefetch(&store_.at(columns_.standard.id, row));
        __builtin_prefetch(&store_.at(columns_.standard.state, row));
        __builtin_prefetch(&store_.at(columns_.standard.remaining, row));
        __builtin_prefetch(&store_.at(columns_.get<"jobs/attained">(), row));
        __builtin_prefetch(&store_.at(columns_.standard.measured_steps_per_second, row));
    }

    /// The row of the job of an event; the number of rows if it has none. O(1) unless rows have moved, then O(log
    /// rows).
    [[nodiscard]] std::size_t row_of(sim_event const& e) const noexcept {
        bool const is_there = e.row < live_.rows() && live_.id(e.row) == e.subject;
        return is_there ? e.row : live_.find(e.subject);
    }
    /// Finds the jobs of the events after rows have moved. O(events log rows).
    void follow_rows() noexcept {
        queue_.move_rows([this](sim_event const& e) noexcept {
            return e.what == event_class::job_phase ? static_cast<std::uint32_t>(live_.find(e.subject)) : e.row;
        });
    }

    /// True for the end of a speed that a job no longer has. Such an event must not cause a tick: a
    /// policy that changes two jobs on every tick would be called more and more often.
    [[nodiscard]] bool is_void(sim_event const& e) const noexcept {
        if (e.what != event_class::job_phase) return false;
        std::size_t const row = row_of(e);
        return row == live_.rows() || live_[row].version != e.version;
    }
};

}  // namespace ration::sim
