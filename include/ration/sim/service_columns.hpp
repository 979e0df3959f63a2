// SPDX-License-Identifier: BSL-1.0
/// The columns of services in a simulation: the devices that they request, and their level.
///
/// The level of a simulated service is that it holds the devices that it requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ration/sim/columns.hpp>
#include <ration/sim/live_jobs.hpp>

namespace ration::sim {

/// Fills `jobs/requested.gpu`, `jobs/slo.met` and `jobs/slo.slack`, as far as a policy reads them. The window of a
/// level is the last minute, or the time since the last change of its devices if that is shorter.
class service_columns {
    static constexpr nanoseconds window = seconds(60);
    bool requests_ = false, levels_ = false;

    /// Both are 0 for a job without a level.
    struct level {
        double met = 0, slack = 0;
    };

public:
    /// `is_read(name)`: a policy reads the column.
    template <class IsRead>
    void prepare(workload_shape const& shape, IsRead const& is_read) noexcept {
        requests_ = shape.makes_requests && is_read("jobs/requested.gpu");
        levels_ = shape.makes_requests && (is_read("jobs/slo.met") || is_read("jobs/slo.slack"));
    }

    /// Updates the rows of active jobs. O(rows x entries of a schedule). Call it before `live_jobs::show`, since it
    /// marks rows.
    void show(live_jobs& jobs, snapshot_store& store, sim_columns const& columns, workload const& kinds,
              nanoseconds now) const noexcept {
        if (!requests_ && !levels_) return;
        for (std::size_t row = 0; row < jobs.rows(); ++row) {
            if (!jobs.is_active(row)) continue;
            auto const& job = jobs.description(row);
            job_model const& model = *kinds.models[job.model];
            std::int64_t const wanted = model.requested(job, jobs.steps_at(row, now), now);
            auto const requested = columns.of(resource_id::gpu).requested;
            if (requests_ && wanted != std::exchange(store.at(requested, row), wanted))
                jobs.mark(row, description_columns);
            if (levels_) show_level(jobs, store, columns, model, row, wanted, now);
        }
    }

private:
    static void show_level(live_jobs& jobs, snapshot_store& store, sim_columns const& columns, job_model const& model,
                           std::size_t row, std::int64_t wanted, nanoseconds now) noexcept {
        auto const [met, slack] = wanted > 0 ? level_of(jobs, model, row, wanted, now) : level{};
        auto& shown_met = store.at(columns.get<"jobs/slo.met">(), row);
        auto& shown_slack = store.at(columns.get<"jobs/slo.slack">(), row);
        if (shown_met == met && shown_slack == slack) return;
        shown_met = met;
        shown_slack = slack;
        jobs.mark(row, 0);
    }

    /// Precondition: it requests some.
    [[nodiscard]] static level level_of(live_jobs const& jobs, job_model const& model, std::size_t row,
                                        std::int64_t wanted, nanoseconds now) noexcept {
        auto const& job = jobs.description(row);
        std::int64_t const held = jobs[row].devices;
        nanoseconds from = now - window;
        for (nanoseconds const begin : {job.submitted, jobs[row].held_since})
            if (from < begin) from = begin;
        double met = held >= wanted ? 1 : 0, slack = static_cast<double>(held - wanted) / static_cast<double>(wanted);
        auto const gap = model.gap_to_requests(job, held, from, now);
        if (gap.met + gap.excess + gap.shortage > 0) {  // else no time has passed, or the model has no schedule
            double const passed = to_seconds(now - from), over = gap.excess - gap.shortage;
            met = gap.met / passed;
            slack = over / (static_cast<double>(held) * passed - over);
        }
        return {met, slack};
    }
};

}  // namespace ration::sim
