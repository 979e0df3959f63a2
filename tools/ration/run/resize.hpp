// SPDX-License-Identifier: BSL-1.0
/// The resize of one job: checkpoint, stop, launch with other devices. A state machine without a clock, a process or a
/// file: its callers report events, and carry out the orders that it returns. docs/elastic.md has the sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ration/units.hpp>

#include "run/resize_launch.hpp"
#include "run/resize_state.hpp"

namespace ration::program {

/// Whether the end of the first process ends the job.
enum class exit_meaning : std::uint8_t { job_is_over, part_of_resize };

class resize {
    resize_state state_;
    resize_launch launch_{state_};

public:
    /// `first_cost`: seconds, the estimate of what a restart costs.
    resize(job_id job, device_table& table, resize_rules const& rules, double first_cost)
        : state_(job, table, rules, first_cost) {}

    // --- Grants
    /// Sets the number of devices; 0: the job is saved and queued. `advance` begins the resize.
    void want(std::int64_t devices) noexcept { state_.devices.want(devices); }
    /// Sets the samples per step from the next launch on; 0: the job chooses.
    void want_batch(std::int64_t samples) noexcept { state_.devices.want_batch(samples); }

    // --- Events
    void advance(nanoseconds now);
    void checkpoint(bool ok, nanoseconds now);
    /// A command could not be sent, or the job refuses it.
    void command_failed(std::string why, nanoseconds now);
    /// The first process has ended. `clean`: exit code 0; `done`: the job has reported that its work is done.
    [[nodiscard]] exit_meaning exited(bool clean, bool done, nanoseconds now);
    /// No process of the job is left.
    void cleared(nanoseconds now);
    /// The events of the ordered launch and of the process that it starts.
    [[nodiscard]] resize_launch& launch() noexcept { return launch_; }
    /// The awaited devices do not become free: aborts a growth that has not begun.
    void give_up_waiting(std::string why);
    /// The job is to end: no launch follows.
    void finish() noexcept { state_.is_finishing = true; }
    /// The job has ended. `clean`: no process is left, and its devices are released; else they stay reserved until
    /// `cleared`.
    void ended(bool clean, nanoseconds now);

    /// Continues from a record, after a restart of the controller. `alive`: its process runs. False when its devices
    /// belong to another job.
    [[nodiscard]] bool restore(resize_record const& from, bool alive, nanoseconds now);

    // --- State
    [[nodiscard]] resize_state const& state() const noexcept { return state_; }
    /// The time of the next `advance`; nullopt: only after an event.
    [[nodiscard]] std::optional<nanoseconds> next_deadline() const noexcept;
    [[nodiscard]] std::vector<resize_order> take_orders() { return state_.outbox.take_orders(); }
    [[nodiscard]] std::vector<resize_note> take_notes() { return state_.outbox.take_notes(); }

private:
    void start_queued(nanoseconds now);
    void advance_steady(nanoseconds now);
    void begin(nanoseconds now);
    void abort(std::string why, nanoseconds now);
    void keep_devices(nanoseconds now);
    [[nodiscard]] bool loses_a_device(bool clean) const;
    void continue_alive(nanoseconds now);
    void continue_dead(nanoseconds now);
};

}  // namespace ration::program
