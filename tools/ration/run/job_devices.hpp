// SPDX-License-Identifier: BSL-1.0
/// The devices of one job that can be resized: those that it holds, against the number that the policy grants it.
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include <ration/units.hpp>

#include "run/device_table.hpp"

namespace ration::program {

class job_devices {
    job_id job_;
    device_table& table_;
    std::int64_t wanted_ = 0, batch_ = 0;
    device_list held_;

public:
    job_devices(job_id job, device_table& table) noexcept : job_(job), table_(table) {}

    [[nodiscard]] job_id job() const noexcept { return job_; }

    // --- The grant
    void want(std::int64_t devices) noexcept { wanted_ = devices; }
    void want_batch(std::int64_t samples) noexcept { batch_ = samples; }
    [[nodiscard]] std::int64_t wanted() const noexcept { return wanted_; }
    /// Samples per step from the next launch on; 0: the job chooses.
    [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }

    // --- What it holds
    /// Of its process, or of the ordered launch. During a resize the table reserves further ones for the job.
    [[nodiscard]] device_list const& held() const noexcept { return held_; }
    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(held_.size()); }
    /// Those of them that are not cordoned.
    [[nodiscard]] std::int64_t sound() const { return std::ssize(all().sound(held_)); }
    [[nodiscard]] bool has_cordoned() const { return sound() != size(); }

    // --- What it could hold
    /// Devices with enough memory for the job, cordoned ones excluded.
    [[nodiscard]] std::int64_t large_enough() const noexcept { return table_.large_enough(job_); }
    /// The most devices that the job could have now: its own and the free ones with enough memory; without a need for
    /// memory, all.
    [[nodiscard]] std::int64_t most() const {
        return table_.has_needs(job_) ? std::ssize(table_.of(job_)) + table_.free(job_) : std::ssize(all());
    }
    /// Whether the free devices and its own sound ones are as many as it is granted.
    [[nodiscard]] bool can_have_wanted() const { return wanted_ - sound() <= table_.free(job_); }
    /// Why no job may begin to change its devices; empty if it may.
    [[nodiscard]] char const* why_frozen() const noexcept { return table_.why_frozen(); }
    /// All devices of the run.
    [[nodiscard]] run_devices const& all() const noexcept { return table_.devices(); }

    // --- Changes
    /// From the queue: takes as many as it is granted. False, without a change, when fewer are free for it.
    [[nodiscard]] bool take();
    /// The devices that it is to have after a resize, reserved for it: its sound ones first. Pre: `can_have_wanted()`.
    [[nodiscard]] device_list choose();
    /// `planned`, with other devices in the place of cordoned ones, as far as any are free. They are reserved for it.
    [[nodiscard]] device_list replace_cordoned(device_list const& planned);
    /// From now on it holds these, which are reserved for it. Releases none.
    void hold(device_list devices) noexcept { held_ = std::move(devices); }
    /// Releases what is reserved for it beyond what it holds.
    void release_others() { table_.keep_only(job_, held_); }
    /// Releases everything.
    void release();
    /// Reserves these for it. False, without a change, when one belongs to another job or does not exist.
    [[nodiscard]] bool claim(std::span<std::uint32_t const> devices) { return table_.claim(job_, devices); }
};

}  // namespace ration::program
