// SPDX-License-Identifier: BSL-1.0
/// Jobs that run on devices: what follows from a change of their holdings.
///
/// Part of simulation.hpp. cpu_jobs.hpp has those on processors.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/sim/contention.hpp>
#include <ration/sim/job_speeds.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/outcome.hpp>

namespace ration::sim {

/// Lets jobs on devices start, continue on others, or wait.
class device_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    workload const& workload_;
    live_jobs& live_;
    job_speeds& speed_segments_;
    job_records& records_;
    contention& contention_;
    run_observer* observer_;

public:
    /// All references have to outlive the object; so has the observer, if there is one.
    device_jobs(snapshot_store& store, sim_columns const& columns, workload const& kinds, live_jobs& live,
                job_speeds& speed_segments, job_records& records, contention& shared, run_observer* observer) noexcept
        : store_(store), columns_(columns), workload_(kinds), live_(live), speed_segments_(speed_segments),
          records_(records), contention_(shared), observer_(observer) {}

    /// The holdings of the job have changed. On other devices it starts again, from a save.
    void take_allocation(std::size_t row, nanoseconds now) noexcept {
        bring_up(row, now);
        live_job& job = live_[row];
        held_devices const& held = speed_segments_.held(row);
        bool const has_moved = held.places() != job.places;
        if (has_moved) job.saved = job.done;  // a stopped job saves its state
        if (has_moved && held.devices() > 0) begin_on_new_devices(row, now);
        go_on_with(row, held, now);
    }

    /// The job has lost some of its devices, and continues at once with the others. Call `bring_up` before.
    void go_on(std::size_t row, nanoseconds now) noexcept { go_on_with(row, speed_segments_.held(row), now); }

    /// Records device-seconds and steps before the holdings change.
    void bring_up(std::size_t row, nanoseconds now) noexcept {
        sim::bring_up(live_, row, workload_, records_, now);
        speed_segments_.bring_up(row, now);
    }

private:
    void go_on_with(std::size_t row, held_devices const& held, nanoseconds now) noexcept {
        live_job& job = live_[row];
        job.devices = held.devices();
        job.batch = held.batch();
        job.places = held.places();
        contention_.note_change();
        auto const state = job.devices > 0 ? job_state::running : job_state::queued;
        store_.at(columns_.standard.state, row) = static_cast<std::uint32_t>(state);
        live_.mark(row, state_columns);
        if (observer_ != nullptr) observer_->holds(now, live_.id(row), job.devices);
        speed_segments_.set(row, now);
    }

    void begin_on_new_devices(std::size_t row, nanoseconds now) noexcept {
        job_outcome& became = records_.outcome(row, live_.id(row));
        if (became.started.count >= 0) {
            ++became.restarts;
        } else {
            became.started = now;
            store_.at(columns_.standard.started, row) = now.count;
        }
        store_.at(columns_.get<"jobs/restarts">(), row) = became.restarts;
        live_[row].since = live_[row].began = later_by(now, seconds(live_.description(row).restart_cost));
    }
};

}  // namespace ration::sim
