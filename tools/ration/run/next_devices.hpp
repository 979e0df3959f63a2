// SPDX-License-Identifier: BSL-1.0
/// The devices of the next launch of a job, and the old ones to which it can roll back.
#pragma once

#include <cstdint>
#include <iterator>

#include "run/job_devices.hpp"
#include "run/resize_record.hpp"

namespace ration::program {

/// All of them stay reserved for the job until it works with those that it holds.
class next_devices {
    job_devices& devices_;
    device_list next_, old_;
    bool falls_back_ = false, returns_ = false;

public:
    explicit next_devices(job_devices& devices) noexcept : devices_(devices) {}

    // --- For the next launch
    /// The number that the policy grants. Pre: `can_have_wanted()`.
    void plan_wanted() { next_ = devices_.choose(); }
    /// The same again.
    void plan_return();
    /// The old ones.
    void plan_roll_back();
    /// The same again for a job that returns; any other goes to the queue.
    void plan_retry();

    // --- At the launch
    /// From now on the job holds the planned ones, with others in the place of cordoned ones, and falls back on those
    /// that it held, unless it returns to them. False, and it holds what it held, when none are planned or left.
    [[nodiscard]] bool hold_planned();
    /// Replaces cordoned ones among those that the job holds. False when none are left.
    [[nodiscard]] bool replace_held();

    // --- At its end
    /// The job works with what it holds, and all others are released. True when it has returned.
    [[nodiscard]] bool settle();
    /// The resize is aborted: the job keeps what it holds.
    void abort();
    /// Forgets both lists, and releases nothing.
    void forget() noexcept;
    /// The job goes to the queue, and has no devices any more.
    void release();

    // --- State
    [[nodiscard]] std::int64_t size() const noexcept { return std::ssize(next_); }
    [[nodiscard]] std::int64_t old_size() const noexcept { return std::ssize(old_); }
    /// Whether a launch that fails is followed by one with the old devices.
    [[nodiscard]] bool falls_back() const noexcept { return falls_back_; }
    /// Whether the launch is at the size that the job had before: after a failure, or after the loss of a device.
    [[nodiscard]] bool returns() const noexcept { return returns_; }

    // --- The record
    void add_to(resize_record& into) const;
    /// False when a device belongs to another job.
    [[nodiscard]] bool restore(resize_record const& from);
};

}  // namespace ration::program
