// SPDX-License-Identifier: BSL-1.0
/// The columns of the snapshot that only a run with devices has: what jobs can do with devices, and what they use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ration/host/standard_columns.hpp>

#include "run/live_job.hpp"

namespace ration::program {

class device_columns {
    snapshot_store& store_;
    standard_columns& columns_;
    column<std::int64_t> request_;
    column<double> given_;         // the speedup in the jobs file; 0: none
    std::size_t width_;            // values in a row of a vector by number of devices
    std::vector<double> seconds_;  // used, by slot
    nanoseconds refreshed_at_{};

public:
    /// Declares the columns in a store that has the standard ones already. `most`: devices that one job can have;
    /// `slots`: of the job table.
    device_columns(snapshot_store& store, standard_columns& columns, std::int64_t most, std::size_t slots);

    /// Writes what the jobs can have together. Pre: the nodes table has its row.
    void set_capacity(std::int64_t devices) noexcept { store_[of(resource_id::gpu).capacity][0] = devices; }
    /// Writes what stays. Pre: the job has a row.
    void describe(live_job const& job) noexcept;
    /// Writes what changes, of the jobs that have a row and use devices. O(jobs).
    void refresh(std::span<live_job const> jobs, nanoseconds now) noexcept;
    /// Devices that the job has requested; 0: it has no request. Pre: the job has a row.
    void set_requested(live_job const& job, std::int64_t devices) noexcept {
        store_[of(resource_id::gpu).requested][job.row] = devices;
    }
    /// Device-seconds that the job has used up to the last `refresh`.
    [[nodiscard]] double seconds(live_job const& job) const noexcept { return seconds_[job.slot]; }

private:
    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
    void describe_sizes(live_job const& job, elastic_config const& wants) noexcept;
    void refresh_job(live_job const& job, nanoseconds now) noexcept;
};

}  // namespace ration::program
