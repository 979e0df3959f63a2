// SPDX-License-Identifier: BSL-1.0
/// All jobs of a run, and the snapshot that policies see of them.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include <ration/host/ledger.hpp>
#include <ration/host/standard_columns.hpp>

#include "run/device_columns.hpp"
#include "run/live_job.hpp"
#include "run/training_progress.hpp"

namespace ration::program {

/// What the jobs share.
struct host_supply {
    millicores cpu;
    bytes memory;
    std::optional<std::int64_t> devices{};  ///< none: this run knows of no devices, and offers no columns for them
};

/// What a run without devices shares out, and one with: the first of the standard resources, so that their numbers stay
/// the same.
[[nodiscard]] inline std::span<resource_info const> host_resources(bool devices) noexcept {
    return std::span(standard_resources).first(devices ? std::size(standard_resources) : 2);
}

/// The jobs in the order of the file. A job has a row in the jobs table from the time that it arrives; ids count in the
/// order of arrival, so that rows are only ever added: the job in row i has the id i + 1. There is one node: this
/// machine.
class job_table {
    std::vector<live_job> jobs_;
    std::vector<std::size_t> by_id_;  // place in jobs_
    snapshot_store store_;
    standard_columns columns_;
    std::optional<device_columns> devices_;
    std::map<std::string_view, std::uint32_t> tenants_;

public:
    job_table(std::span<job_config const> jobs, host_supply const& supply);
    job_table(job_table const&) = delete;
    job_table& operator=(job_table const&) = delete;

    [[nodiscard]] std::span<live_job> jobs() noexcept { return jobs_; }
    [[nodiscard]] std::span<live_job const> jobs() const noexcept { return jobs_; }
    [[nodiscard]] live_job& job(job_id id) noexcept { return jobs_[by_id_[id.value - 1]]; }
    [[nodiscard]] live_job const& job(job_id id) const noexcept { return jobs_[by_id_[id.value - 1]]; }
    /// Whether the job has a row already.
    [[nodiscard]] bool arrived(live_job const& job) const noexcept { return job.row < store_.rows(table_id::jobs); }

    [[nodiscard]] snapshot_store& store() noexcept { return store_; }
    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] standard_columns const& columns() const noexcept { return columns_; }
    /// Jobs that run at once when `launched` is launched, itself included; not those that wait for devices.
    [[nodiscard]] std::size_t running_with(live_job const& launched) const noexcept;
    [[nodiscard]] bool shares_devices() const noexcept { return devices_.has_value(); }

    /// Gives rows to the jobs whose time has come. True when there are new ones.
    bool arrive(nanoseconds now) noexcept;
    /// Brings the columns that only ration knows up to date. `progress`: by row. O(jobs).
    void refresh(nanoseconds now, std::span<training_progress const> progress) noexcept;
    /// Devices that the job has requested; -1: it has no request. Pre: the job has arrived and uses devices.
    void set_requested(live_job const& job, std::int64_t devices) noexcept {
        RATION_ASSERT(devices_, "the columns of devices were declared");
        devices_->set_requested(job, devices);
    }
    /// Device-seconds that the job has used up to the last `refresh`.
    [[nodiscard]] double device_seconds(live_job const& job) const noexcept {
        return devices_ ? devices_->seconds(job) : 0;
    }

    /// What the jobs can have together now.
    void set_capacity(millicores cpu) noexcept { store_[of(resource_id::cpu).capacity][0] = cpu.count; }
    void set_devices(std::int64_t count) noexcept {
        if (devices_) devices_->set_capacity(count);
    }

    /// Cores that the job used at the last tick.
    [[nodiscard]] double used_cores(live_job const& job) const noexcept;
    /// Millicores that the job holds; 0: none, or none that anybody granted.
    [[nodiscard]] std::int64_t held_cpu(live_job const& job) const noexcept;

private:
    [[nodiscard]] resource_columns const& of(resource_id r) const noexcept {
        return columns_.resources[static_cast<std::size_t>(r)];
    }
    void describe(live_job const& job) noexcept;
};

}  // namespace ration::program
