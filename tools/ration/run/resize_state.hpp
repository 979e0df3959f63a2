// SPDX-License-Identifier: BSL-1.0
/// The state of one job that can be resized. `resize` and `resize_launch` change it; other components read it.
#pragma once

#include <cstdint>
#include <string>

#include <ration/units.hpp>

#include "run/back_off.hpp"
#include "run/job_devices.hpp"
#include "run/next_devices.hpp"
#include "run/resize_outbox.hpp"
#include "run/resize_phase.hpp"
#include "run/resize_record.hpp"
#include "run/resize_timer.hpp"
#include "run/restart_cost.hpp"

namespace ration::program {

struct resize_state {
    resize_phase phase = resize_phase::queued;
    job_devices devices;
    next_devices next{devices};
    resize_timer timer;
    back_off rest;
    restart_cost cost;
    resize_outbox outbox;
    bool takes_commands = false;  ///< the job has sent an address for them
    bool has_saved = false;       ///< the job has reported a checkpoint
    bool is_finishing = false;    ///< the job is to end: no launch follows
    nanoseconds seen{};           ///< the last `resize::advance`

    resize_state(job_id job, device_table& table, resize_rules const& rules, double first_cost)
        : devices(job, table), timer(rules), rest(rules.back_off), cost(first_cost) {}
    resize_state(resize_state const&) = delete;
    resize_state& operator=(resize_state const&) = delete;

    // --- Questions
    /// The job takes commands, or has reported a checkpoint.
    [[nodiscard]] bool can_be_saved() const noexcept { return takes_commands || has_saved; }
    /// Why no resize may begin now, as a sentence; empty if one may: the job can be saved, and the back-off after a
    /// failure has passed.
    [[nodiscard]] char const* why_not(nanoseconds now) const noexcept;
    /// At the last `resize::advance`.
    [[nodiscard]] char const* why_not() const noexcept { return why_not(seen); }
    [[nodiscard]] bool can_change(nanoseconds now) const noexcept { return *why_not(now) == '\0'; }
    /// Whether the job would continue from a checkpoint if its process failed because of a device.
    [[nodiscard]] bool outlives_a_device() const noexcept {
        return !is_finishing && has_saved && phase == resize_phase::steady;
    }
    /// Between the stop and the first step after it, at the new or the old size.
    [[nodiscard]] bool is_restarting() const noexcept;
    /// Granted more devices than it holds, and the growth has not begun.
    [[nodiscard]] bool waits_to_grow() const noexcept;
    [[nodiscard]] resize_record record() const;

    // --- Steps that several transitions share
    /// Begins a phase: its deadline, its note, its order.
    void enter(resize_phase into, nanoseconds now, std::string why = {});
    void note(resize_step what, std::string why = {});
    /// The resize has failed, and the job is granted what it had: `size` devices.
    void fail(std::int64_t size, std::string why, nanoseconds now);
    /// The launch has failed, and the next one is with the old devices.
    void roll_back(std::string why, nanoseconds now);
    /// Releases all devices, and waits for others.
    void queue(nanoseconds now);
    /// Takes over a record. False when its devices belong to another job.
    [[nodiscard]] bool restore(resize_record const& from);

    /// The size before the transition under way; 0 for a launch from the queue.
    [[nodiscard]] std::int64_t coming_from() const noexcept;
    [[nodiscard]] std::int64_t going_to() const noexcept;
};

}  // namespace ration::program
