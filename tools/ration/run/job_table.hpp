// SPDX-License-Identifier: BSL-1.0
/// All jobs of a run, and the snapshot that policies see of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ration/host/ledger.hpp>
#include <ration/host/standard_columns.hpp>

#include "run/device_columns.hpp"
#include "run/live_job.hpp"
#include "run/phase_models.hpp"
#include "run/training_progress.hpp"

namespace ration::program {

/// The amounts that the jobs share.
struct host_supply {
    millicores cpu;
    bytes memory;
    std::optional<std::int64_t> devices{};  ///< none: this run shares out no devices, and offers no columns for them
    tenant_tree tenants{};                  ///< of the jobs file
    bool open = false;                      ///< further jobs can be added
    phase_models phases{};                  ///< none: this run offers no columns for phases
};

/// The resources that a run divides, without and with devices: the first of the standard resources, so that their
/// numbers stay the same.
[[nodiscard]] inline std::span<resource_info const> host_resources(bool devices) noexcept {
    return std::span(standard_resources).first(devices ? std::size(standard_resources) : 2);
}

/// Columns of the host that only estimators read. `jobs/throttled.cpu` is filled by the engine.
struct estimated_from {
    column<double> total_steps;    ///< as the job reports them; 0 = it does not
    column<std::int64_t> batch;    ///< samples per step over all workers, likewise
    column<std::int64_t> workers;  ///< devices in use

    [[nodiscard]] static estimated_from declare(snapshot_store& store);
};

/// The jobs, first those of the file in its order. A job has a row in the jobs table from the time that it arrives; ids
/// count in the order of arrival, so that rows ascend by id. There is one node: this machine.
class job_table {
    struct numbered {
        job_id id;
        std::size_t slot;
    };
    std::vector<live_job> jobs_;   // by slot; reserved, so that they stay where they are
    std::vector<numbered> by_id_;  // ascending: the job in row i is entry i
    std::size_t capacity_;
    std::uint64_t last_id_;
    snapshot_store store_;
    standard_columns columns_;
    estimated_from measured_;
    std::optional<device_columns> devices_;
    tenant_rows tenants_;  // empty: no job names one
    nanoseconds half_life_;
    phase_models phases_;  // of the classes

public:
    /// `capacity`: the number of jobs that can be in the table at once, if that is more than `jobs`.
    job_table(std::span<job_config const> jobs, host_supply const& supply, std::size_t capacity = 0);
    job_table(job_table const&) = delete;
    job_table& operator=(job_table const&) = delete;

    /// By slot. Forgotten jobs are over, and are among them until another job has their slot.
    [[nodiscard]] std::span<live_job> jobs() noexcept { return jobs_; }
    [[nodiscard]] std::span<live_job const> jobs() const noexcept { return jobs_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// Pre: the job is not forgotten. O(log jobs).
    [[nodiscard]] live_job& job(job_id id) noexcept { return jobs_[slot_of(id)]; }
    [[nodiscard]] live_job const& job(job_id id) const noexcept { return jobs_[slot_of(id)]; }
    /// Whether the job has a row already.
    [[nodiscard]] bool arrived(live_job const& job) const noexcept { return job.row < store_.rows(table_id::jobs); }

    [[nodiscard]] snapshot_store& store() noexcept { return store_; }
    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] standard_columns const& columns() const noexcept { return columns_; }
    /// Jobs that run at once when `launched` is launched, itself included; not those that wait for devices.
    [[nodiscard]] std::size_t running_with(live_job const& launched) const noexcept;
    [[nodiscard]] bool shares_devices() const noexcept { return devices_.has_value(); }
    /// In which the usage of tenants halves; 0 = never.
    [[nodiscard]] nanoseconds half_life() const noexcept { return half_life_; }

    /// Jobs that can be added now.
    [[nodiscard]] std::size_t free_slots() const noexcept { return capacity_ - by_id_.size(); }
    /// A job that comes after all others. `incarnations`: launches before this run. Pre: there is a
    /// free slot; no earlier job arrives later.
    live_job& add(std::shared_ptr<job_config const> config, std::uint32_t incarnations);
    /// Removes the row of the job and frees its slot. Pre: it is over, and holds nothing. O(rows x columns).
    void forget(live_job& job) noexcept;

    /// Gives rows to the jobs whose time has come. True when there are new ones.
    bool arrive(nanoseconds now) noexcept;
    /// Updates the columns that only ration can fill. `progress`: by slot. O(jobs).
    void refresh(nanoseconds now, std::span<training_progress const> progress) noexcept;
    /// The columns of devices; null without devices.
    [[nodiscard]] device_columns* devices() noexcept { return devices_ ? &*devices_ : nullptr; }
    /// Device-seconds that the job has used up to the last `refresh`.
    [[nodiscard]] double device_seconds(live_job const& job) const noexcept {
        return devices_ ? devices_->seconds(job) : 0;
    }

    /// CPU that the jobs can have together now.
    void set_capacity(millicores cpu) noexcept { store_[of(resource_id::cpu).capacity][0] = cpu.count; }

    /// Cores that the job used at the last tick.
    [[nodiscard]] double used_cores(live_job const& job) const noexcept;
    /// Millicores that the job holds; 0: none, or none that anybody granted.
    [[nodiscard]] std::int64_t held_cpu(live_job const& job) const noexcept;

private:
    [[nodiscard]] std::size_t slot_of(job_id id) const noexcept;
    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
    void describe(live_job const& job) noexcept;
};

}  // namespace ration::program
