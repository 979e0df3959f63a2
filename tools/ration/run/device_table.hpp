// SPDX-License-Identifier: BSL-1.0
/// The owner of each device. A device belongs to at most one job, and no other component stores that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/units.hpp>

#include "run/run_devices.hpp"

namespace ration::program {

/// Chooses the devices of a job where several would do.
class device_chooser {
public:
    /// `count` devices for a job that has `held`: some of these, or all of them and some of `free`. Pre: the two lists
    /// have at least `count` devices. The remaining ones of `held` come first, in their order.
    [[nodiscard]] virtual device_list choose(job_id job, device_list const& held, device_list const& free,
                                             std::int64_t count) = 0;
    /// The job has no devices any more.
    virtual void forget(job_id job) = 0;

protected:
    ~device_chooser() = default;
};

/// The choice without a topology: the first of `held`, then the lowest numbers.
[[nodiscard]] device_list lowest_devices(device_list held, device_list const& free, std::int64_t count);

class device_table {
    run_devices devices_;
    std::vector<job_id> owners_;  // by number of the device; 0, or beyond the end: none
    std::vector<std::pair<job_id, bytes>> needs_;
    device_chooser* chooser_ = nullptr;
    char const* why_frozen_ = "";

public:
    device_table() = default;
    explicit device_table(std::span<std::string const> names) : devices_(names) {}

    [[nodiscard]] run_devices& devices() noexcept { return devices_; }
    [[nodiscard]] run_devices const& devices() const noexcept { return devices_; }

    /// From now on `chooser`, which outlives the table, chooses the devices; before, the lowest numbers are chosen.
    void choose_by(device_chooser& chooser) noexcept { chooser_ = &chooser; }
    /// The job takes only devices with this much memory. Jobs that need less leave these to it while other devices
    /// suffice.
    void needs(job_id job, bytes memory) {
        if (memory.count > 0) needs_.emplace_back(job, memory);
    }
    /// The job is over. Pre: it has no device.
    void remove(job_id job) {
        std::erase_if(needs_, [job](auto const& need) { return need.first == job; });
    }
    [[nodiscard]] bool has_needs(job_id job) const noexcept { return need_of(job).count > 0; }

    /// Devices without an owner that are not cordoned.
    [[nodiscard]] std::int64_t free() const noexcept;
    /// Those of them that the job could take.
    [[nodiscard]] std::int64_t free(job_id job) const { return static_cast<std::int64_t>(free_for(job).size()); }
    /// Devices that the job could take if none had an owner.
    [[nodiscard]] std::int64_t large_enough(job_id job) const noexcept;
    [[nodiscard]] std::int64_t held() const noexcept;
    [[nodiscard]] job_id owner(std::uint32_t device) const noexcept {
        return device < owners_.size() ? owners_[device] : job_id{};
    }
    /// In ascending order of their numbers.
    [[nodiscard]] device_list of(job_id job) const;

    /// Takes `count` free devices for a job that has none; returns none when fewer are free for it. O(devices), and the
    /// cost of choosing.
    [[nodiscard]] device_list take(job_id job, std::int64_t count);
    /// The `count` devices that a job with `held` is to have. Takes those that are new to it, and releases none.
    /// Pre: `held` and the free devices are at least `count`.
    [[nodiscard]] device_list change(job_id job, device_list const& held, std::int64_t count);
    /// Makes the job the owner of these devices. False, without a change, when one belongs to another job or does not
    /// exist.
    [[nodiscard]] bool claim(job_id job, std::span<std::uint32_t const> devices);
    /// Releases all other devices of the job.
    void keep_only(job_id job, std::span<std::uint32_t const> devices);
    void release(job_id job) { keep_only(job, {}); }

    /// Until the next call no job that has devices begins to change them. `why`: static text; empty ends the freeze.
    void freeze(char const* why) noexcept { why_frozen_ = why; }
    [[nodiscard]] char const* why_frozen() const noexcept { return why_frozen_; }

private:
    void set_owner(std::uint32_t device, job_id job);
    [[nodiscard]] bytes need_of(job_id job) const noexcept;
    [[nodiscard]] device_list free_for(job_id job) const;
    [[nodiscard]] device_list least_needed(device_list const& of, job_id job, std::int64_t count) const;
};

}  // namespace ration::program
