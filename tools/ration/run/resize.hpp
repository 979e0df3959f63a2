// SPDX-License-Identifier: BSL-1.0
/// The resize of one job: checkpoint, stop, launch with other devices. A state machine without a clock, a process or a
/// file: its callers report events, and carry out the orders that it returns. docs/elastic.md has the sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/units.hpp>

#include "config/config.hpp"
#include "events/events.hpp"
#include "run/device_table.hpp"
#include "run/resize_phase.hpp"

namespace ration::program {

/// A step that the caller carries out, in the order of the list.
enum class resize_order : std::uint8_t {
    save,       ///< C1 save hold=1
    go,         ///< C1 go: the resize is aborted
    stop,       ///< C1 stop
    terminate,  ///< SIGTERM
    kill,       ///< SIGKILL to all processes of the job
    launch,     ///< with `devices()`, in a new incarnation
    refuse,     ///< the job cannot run with its devices and fails; `why()` has the reason
};

/// One transition, for the event log.
struct resize_note {
    resize_step what = resize_step::settled;
    std::int64_t from = 0, to = 0;
    std::string why;      ///< may be empty
    device_list devices;  ///< of its process, or of the next launch
};

struct resize_rules {
    resize_deadlines deadlines;
    nanoseconds terminate = seconds(10);  ///< from SIGTERM to SIGKILL, and from each SIGKILL to the next
    nanoseconds clear = seconds(30);      ///< until processes that still use the devices are reported
    nanoseconds wait = seconds(900);      ///< for devices that other jobs are to release
    nanoseconds back_off = seconds(60);   ///< after a failed resize; doubles with each failure, up to 16 times this
};

/// The part of a resize that the record stores. Devices are numbers of the run's table.
struct resize_state {
    resize_phase now = resize_phase::queued;
    std::int64_t wanted = 0;
    device_list holds, next, origin;  ///< of its process; of the new size; of the old size, for a roll back
    bool falls_back = false, returning = false, control = false, has_saved = false, finishing = false;
    double cost = 0;         ///< seconds, as last measured
    std::int64_t batch = 0;  ///< granted
};

/// Whether the end of the first process ends the job.
enum class exit_meaning : std::uint8_t { job_is_over, part_of_resize };

class resize {
    job_id job_;
    device_table* table_;
    resize_rules rules_;
    resize_state s_;
    bool launched_ = false, received_ = false, verified_ = false, stuck_reported_ = false;
    int failures_ = 0, deaths_ = 0;  // consecutive failed resizes; failed starts without an old size
    nanoseconds deadline_{}, rest_until_{}, seen_{};
    std::optional<nanoseconds> waits_, cost_from_;
    std::string why_;
    std::vector<resize_order> orders_;
    std::vector<resize_note> notes_;

public:
    resize(job_id job, device_table& table, resize_rules const& rules, double first_cost);

    // --- Grants
    /// Sets the number of devices; 0: the job is saved and queued. `advance` begins the resize.
    void want(std::int64_t devices) noexcept { s_.wanted = devices; }
    /// Sets the samples per step from the next launch on; 0: the job chooses.
    void want_batch(std::int64_t samples) noexcept { s_.batch = samples; }
    /// Whether a resize may begin now: the job can be saved, and the back-off after a failure has passed.
    [[nodiscard]] bool can_change(nanoseconds now) const noexcept { return *why_not(now) == '\0'; }
    /// The reason against it as a sentence; empty if a resize may begin.
    [[nodiscard]] char const* why_not(nanoseconds now) const noexcept;
    /// At the last `advance`.
    [[nodiscard]] char const* why_not() const noexcept { return why_not(seen_); }
    /// The job takes commands, or has reported a checkpoint.
    [[nodiscard]] bool can_be_saved() const noexcept { return s_.control || s_.has_saved; }

    // --- Events
    void advance(nanoseconds now);
    /// The hello of rank 0. `devices`: the devices that it reports, comma-separated; empty: none reported.
    void hello(bool control, std::uint32_t world, std::string_view devices, nanoseconds now);
    /// The hello of another rank. It may report fewer devices than the job has, but no others.
    void hello_of(std::uint32_t rank, std::string_view devices, nanoseconds now);
    void checkpoint(bool ok, nanoseconds now);
    void stepped(nanoseconds now);
    /// The first process has ended. `clean`: exit code 0; `done`: the job has reported that its work is done.
    [[nodiscard]] exit_meaning exited(bool clean, bool done, nanoseconds now);
    /// No process of the job is left.
    void cleared(nanoseconds now);
    /// The ordered launch has been made; its deadline counts from now.
    void launched(nanoseconds now);
    void launch_failed(std::string why, nanoseconds now);
    /// Before the ordered launch: replaces devices that were cordoned meanwhile by free ones. Without any device the
    /// job is queued.
    void replace_before_launch(nanoseconds now);
    /// The job is to end: no launch follows.
    void finish() noexcept { s_.finishing = true; }
    /// The job has ended. `clean`: no process is left, and its devices are released; else they stay reserved until
    /// `cleared`.
    void ended(bool clean, nanoseconds now);
    /// A command could not be sent, or the job refuses it.
    void command_failed(std::string why, nanoseconds now);
    /// The awaited devices do not become free: aborts a growth that has not begun.
    void give_up_waiting(std::string why);

    // --- After a restart of the controller
    [[nodiscard]] resize_state const& state() const noexcept { return s_; }
    /// Continues from a record. `alive`: its process runs. False when its devices belong to another job.
    [[nodiscard]] bool restore(resize_state const& from, bool alive, nanoseconds now);

    // --- State
    [[nodiscard]] resize_phase phase() const noexcept { return s_.now; }
    /// Of its process, or of the ordered launch.
    [[nodiscard]] device_list const& devices() const noexcept { return s_.holds; }
    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(s_.holds.size()); }
    [[nodiscard]] std::int64_t wanted() const noexcept { return s_.wanted; }
    [[nodiscard]] std::int64_t batch() const noexcept { return s_.batch; }
    /// Devices with enough memory for the job, cordoned ones excluded.
    [[nodiscard]] std::int64_t large_enough() const { return table_->large_enough(job_); }
    /// The most devices that the job could have now: its own and the free ones with enough memory; without a need for
    /// memory, all.
    [[nodiscard]] std::int64_t most() const {
        return table_->has_needs(job_) ? static_cast<std::int64_t>(table_->of(job_).size()) + table_->free(job_)
                                       : static_cast<std::int64_t>(table_->devices().size());
    }
    /// A launch is ordered and not made yet.
    [[nodiscard]] bool awaits_launch() const noexcept {
        return s_.now == resize_phase::starting && !launched_ && !s_.finishing;
    }
    /// Whether the job would continue from a checkpoint if its process failed because of a device.
    [[nodiscard]] bool outlives_a_device() const noexcept {
        return !s_.finishing && s_.has_saved && s_.now == resize_phase::steady;
    }
    /// Between the stop and the first step after it, at the new or the old size.
    [[nodiscard]] bool is_restarting() const noexcept;
    /// Granted more devices than it holds, and the growth has not begun.
    [[nodiscard]] bool waits_to_grow() const noexcept;
    [[nodiscard]] std::string const& why() const noexcept { return why_; }
    /// Seconds from the request to save until the first step after the launch; an estimate until it was measured.
    [[nodiscard]] double restart_cost() const noexcept { return s_.cost; }
    /// The time of the next `advance`; nullopt: only after an event.
    [[nodiscard]] std::optional<nanoseconds> next_deadline() const noexcept;

    [[nodiscard]] std::vector<resize_order> take_orders() { return std::exchange(orders_, {}); }
    [[nodiscard]] std::vector<resize_note> take_notes() { return std::exchange(notes_, {}); }

private:
    void enter(resize_phase next, nanoseconds deadline, std::string why = {});
    void order(resize_order what) { orders_.push_back(what); }
    void note(resize_step what, std::string why = {});
    void advance_steady(nanoseconds now);
    void start_queued(nanoseconds now);
    void begin(nanoseconds now);
    void terminate(nanoseconds now);
    void kill(nanoseconds now);
    void launch(nanoseconds now);
    void queue(nanoseconds now);
    void abort_resize(std::string why, nanoseconds now);
    void roll_back(std::string why, nanoseconds now);
    void fail(std::int64_t stays_at, std::string why, nanoseconds now);
    void settle();
    void object(std::string why, nanoseconds now);
    [[nodiscard]] bool is_at_work() const noexcept;
    [[nodiscard]] bool loses_a_device(bool clean) const noexcept;
    void replace_lost();
    [[nodiscard]] bool survives_its_start(std::string why, nanoseconds now);
    [[nodiscard]] std::int64_t coming_from() const noexcept;
    [[nodiscard]] std::int64_t going_to() const noexcept;
    [[nodiscard]] std::string wrong_world(std::uint32_t world) const;
    [[nodiscard]] std::string wrong_devices(std::string_view devices) const;
};

}  // namespace ration::program
