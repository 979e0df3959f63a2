// SPDX-License-Identifier: BSL-1.0
/// Jobs whose use of CPU and memory changes from phase to phase.
///
/// Part of simulation.hpp. cpu_jobs.hpp runs these jobs as all jobs on processors; this part shows their use, and
/// compares it with their limits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/sim/cpu_sharing.hpp>
#include <ration/sim/live_jobs.hpp>
#include <ration/sim/outcome.hpp>

namespace ration::sim {

/// Fills `sim_columns::phase_columns` and `jobs/used.memory`, and sums up what jobs use and what their limits reserve.
/// Without jobs with phases it does nothing.
class phased_jobs {
    snapshot_store& store_;
    sim_columns const& columns_;
    live_jobs& live_;
    ledger const& holdings_;
    job_records& records_;

public:
    /// All arguments have to outlive the object.
    phased_jobs(snapshot_store& store, sim_columns const& columns, live_jobs& live, ledger const& holdings,
                job_records& records) noexcept
        : store_(store), columns_(columns), live_(live), holdings_(holdings), records_(records) {}

    /// The job gets these cores from now on, or has other limits, or another demand.
    void follow(cpu_claim const& claim, nanoseconds now) noexcept {
        if (!is_phased(claim.row)) return;
        std::uint64_t const id = live_.id(claim.row);
        cpu_demand const most = live_.model(claim.row).most_demand(live_.description(claim.row));
        auto const held = holdings_.of({id});
        std::int64_t const bytes = limit_of(held, resource_id::memory);
        double const reserved_cores = claim.limit < unlimited_cores ? claim.limit : most.cores;
        double const reserved_bytes = bytes != unlimited ? static_cast<double>(bytes) : most.bytes;
        job_use& use = records_.outcome(claim.row, id).use;
        use.advance(now);
        use.cpu.now = use.memory.now = {};
        if (claim.given > 0) {
            use.cpu.now = {claim.given, reserved_cores};
            use.memory.now = {demand_of(live_, claim.row).bytes, reserved_bytes};
        }
        store_.at(columns_.get<"jobs/throttled.cpu">(), claim.row) = claim.throttled();
    }
    /// The job has ended.
    void end(std::size_t row, nanoseconds now) noexcept {
        if (!is_phased(row)) return;
        job_use& use = records_.outcome(row, live_.id(row)).use;
        use.advance(now);
        use.cpu.now = use.memory.now = {};
    }

    /// True if a running job needs more memory than its limit: the kernel would kill it.
    [[nodiscard]] bool is_out_of_memory(std::size_t row) const noexcept {
        if (!is_phased(row) || !live_.is_active(row) || !(live_[row].cores > 0)) return false;
        std::int64_t const limit = limit_of(holdings_.of({live_.id(row)}), resource_id::memory);
        return limit != unlimited && demand_of(live_, row).bytes > static_cast<double>(limit);
    }

    /// Writes the columns of running jobs that policies and estimators read. O(rows).
    void show(nanoseconds now) noexcept {
        if (!columns_.shows_phases) return;
        for (std::size_t row = 0; row < live_.rows(); ++row) {
            if (!is_phased(row) || !live_.is_active(row)) continue;
            known_phase const phase = live_.model(row).phase_at(live_.description(row), live_.steps_at(row, now));
            bool const runs = live_[row].cores > 0;
            store_.at(columns_.of(resource_id::memory).used, row) = runs ? demand_of(live_, row).bytes : 0;
            store_.at(columns_.get<"jobs/class">(), row) = phase.kind;
            store_.at(columns_.get<"jobs/phase">(), row) = phase.number;
            store_.at(columns_.get<"jobs/expected.cpu">(), row) = phase.ahead.cores * 1000;
            store_.at(columns_.get<"jobs/expected.memory">(), row) = phase.ahead.bytes;
            live_.mark(row, description_columns);
        }
    }

private:
    [[nodiscard]] bool is_phased(std::size_t row) const noexcept {
        return columns_.shows_phases && live_.model(row).has_phases();
    }
};

}  // namespace ration::sim
