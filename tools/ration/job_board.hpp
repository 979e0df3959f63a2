// SPDX-License-Identifier: BSL-1.0
/// All jobs of a run, and the snapshot that policies see of them.
#pragma once

#include <span>
#include <vector>

#include <ration/ledger.hpp>
#include <ration/standard_columns.hpp>

#include "live_job.hpp"

namespace ration::program {

/// What this program shares out: the first of the standard resources, so that their numbers stay the same.
inline constexpr std::span<resource_info const> host_resources = std::span(standard_resources).first(2);  // cpu and memory

/// The jobs in the order of the file: row i of the jobs table is job i, whose id is i + 1. There is one node: this machine.
class job_board {
    std::vector<live_job> jobs_;
    snapshot_store store_;
    standard_columns columns_;

public:
    /// `cpu`: what the jobs share.
    job_board(std::span<job_config const> jobs, millicores cpu, bytes memory);

    [[nodiscard]] std::span<live_job> jobs() noexcept { return jobs_; }
    [[nodiscard]] std::span<live_job const> jobs() const noexcept { return jobs_; }
    [[nodiscard]] live_job& job(job_id id) noexcept { return jobs_[id.value - 1]; }
    [[nodiscard]] live_job const& job(job_id id) const noexcept { return jobs_[id.value - 1]; }

    [[nodiscard]] snapshot_store& store() noexcept { return store_; }
    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] standard_columns const& columns() const noexcept { return columns_; }

    /// Brings the columns that only ration knows up to date. O(jobs).
    void refresh() noexcept;

    /// What the jobs can have together now.
    void set_capacity(millicores cpu) noexcept { store_[of(resource_id::cpu).capacity][0] = cpu.count; }

    /// Cores in use by all jobs, and by one, as measured at the last tick.
    [[nodiscard]] double used_cores() const noexcept;
    [[nodiscard]] double used_cores(live_job const& job) const noexcept;

private:
    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
};

}  // namespace ration::program
