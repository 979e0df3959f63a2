// SPDX-License-Identifier: BSL-1.0
/// How one job with devices comes to another number of them: saved, stopped, launched again. A machine of states
/// without a clock, a process or a file of its own: it is told what has happened, and says what is to be done.
/// docs/elastic.md has the sequence.
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

/// What the machine wants done, in this order.
enum class resize_order : std::uint8_t {
    save,       ///< C1 save hold=1
    go,         ///< C1 go: no change of size after all
    stop,       ///< C1 stop
    terminate,  ///< SIGTERM
    kill,       ///< SIGKILL to all of it
    launch,     ///< with `devices()`, in a new incarnation
    refuse,     ///< the job cannot run with its devices: it fails, `why()` says why
};

/// One transition, as it is told.
struct resize_note {
    resize_step what = resize_step::settled;
    std::int64_t from = 0, to = 0;
    std::string why;      ///< may be empty
    device_list devices;  ///< that its process has, or is launched with
};

struct resize_rules {
    resize_deadlines deadlines;
    nanoseconds terminate = seconds(10);  ///< from SIGTERM to SIGKILL, and from each SIGKILL to the next
    nanoseconds clear = seconds(30);      ///< after which what still holds on to its devices is reported
    nanoseconds wait = seconds(900);      ///< for devices that others are to give back
    nanoseconds back_off = seconds(60);   ///< after a change that failed; twice as long each time, up to 16 times
};

/// All that has to outlive the controller. Devices are numbers of the run's table.
struct resize_state {
    resize_phase now = resize_phase::queued;
    std::int64_t wanted = 0;
    device_list holds, next, origin;  ///< of its process; that it goes to; to fall back on
    bool falls_back = false, returning = false, control = false, has_saved = false, finishing = false;
    double cost = 0;         ///< seconds, as last measured
    std::int64_t batch = 0;  ///< granted
};

/// What the end of a process means.
enum class exit_meaning : std::uint8_t { job_is_over, part_of_resize };

class resize {
    job_id job_;
    device_table* table_;
    resize_rules rules_;
    resize_state s_;
    bool launched_ = false, received_ = false, verified_ = false, stuck_reported_ = false;
    int failures_ = 0, deaths_ = 0;  // changes that failed on end; ends at a start that had nothing to fall back on
    nanoseconds deadline_{}, rest_until_{}, seen_{};
    std::optional<nanoseconds> waits_, cost_from_;
    std::string why_;
    std::vector<resize_order> orders_;
    std::vector<resize_note> notes_;

public:
    resize(job_id job, device_table& table, resize_rules const& rules, double first_cost);

    // --- what the policy wants
    /// From now on the job shall have so many devices; 0: none, saved and queued. Acted upon by `advance`.
    void want(std::int64_t devices) noexcept { s_.wanted = devices; }
    /// The same of the samples per step, from the next launch on; 0: the job's own choice.
    void want_batch(std::int64_t samples) noexcept { s_.batch = samples; }
    /// Whether its size may change now: not before it is known how it could be saved, and not for a while after a
    /// failure.
    [[nodiscard]] bool can_change(nanoseconds now) const noexcept { return *why_not(now) == '\0'; }
    /// The same as a sentence: why not. Empty when it may.
    [[nodiscard]] char const* why_not(nanoseconds now) const noexcept;
    /// At the last `advance`.
    [[nodiscard]] char const* why_not() const noexcept { return why_not(seen_); }
    /// Whether it could be saved, as far as is known: it takes commands, or has reported a checkpoint.
    [[nodiscard]] bool can_be_saved() const noexcept { return s_.control || s_.has_saved; }

    // --- what happens
    void advance(nanoseconds now);
    /// Rank 0 says hello. `devices`: what it says that it sees; empty: it does not say.
    void hello(bool control, std::uint32_t world, std::string_view devices, nanoseconds now);
    /// Another rank does. It may see fewer devices than the job has, and no others.
    void hello_of(std::uint32_t rank, std::string_view devices, nanoseconds now);
    void checkpoint(bool ok, nanoseconds now);
    void stepped(nanoseconds now);
    /// The first process has ended. `clean`: exit code 0; `done`: it said that it had nothing left to do.
    [[nodiscard]] exit_meaning exited(bool clean, bool done, nanoseconds now);
    /// Nothing of it is left.
    void cleared(nanoseconds now);
    /// The launch that was ordered has been made; its deadline counts from now. It may have waited for long.
    void launched(nanoseconds now);
    void launch_failed(std::string why, nanoseconds now);
    /// Before the launch that was ordered: in the place of devices that were cordoned meanwhile it gets others, as far
    /// as there are any. Without any it is queued.
    void replace_before_launch(nanoseconds now);
    /// The job is to end as a whole: no launch any more.
    void finish() noexcept { s_.finishing = true; }
    /// It has. `clean`: nothing of it is left, so that others may have its devices; else they stay reserved until
    /// `cleared`.
    void ended(bool clean, nanoseconds now);
    /// A command could not be sent, or the job refuses it.
    void command_failed(std::string why, nanoseconds now);
    /// The promise cannot be kept: a growth that still waits is given up.
    void give_up_waiting(std::string why);

    // --- after a restart of the controller
    [[nodiscard]] resize_state const& state() const noexcept { return s_; }
    /// Goes on from a record. `alive`: its process is there. False when its devices are another's.
    [[nodiscard]] bool restore(resize_state const& from, bool alive, nanoseconds now);

    // --- what it is now
    [[nodiscard]] resize_phase phase() const noexcept { return s_.now; }
    /// Of its process, or of the one to be launched now.
    [[nodiscard]] device_list const& devices() const noexcept { return s_.holds; }
    [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(s_.holds.size()); }
    [[nodiscard]] std::int64_t wanted() const noexcept { return s_.wanted; }
    [[nodiscard]] std::int64_t batch() const noexcept { return s_.batch; }
    /// Devices that are large enough for it.
    [[nodiscard]] std::int64_t large_enough() const { return table_->large_enough(job_); }
    /// The devices that it could have now: of a job that needs much memory those that it has and the free ones that
    /// have enough, else all.
    [[nodiscard]] std::int64_t most() const {
        return table_->has_needs(job_) ? static_cast<std::int64_t>(table_->of(job_).size()) + table_->free(job_)
                                       : static_cast<std::int64_t>(table_->devices().size());
    }
    /// Its launch was ordered, and not made yet.
    [[nodiscard]] bool awaits_launch() const noexcept {
        return s_.now == resize_phase::starting && !launched_ && !s_.finishing;
    }
    /// Whether it would go on if its process failed because of a device.
    [[nodiscard]] bool outlives_a_device() const noexcept {
        return !s_.finishing && s_.has_saved && s_.now == resize_phase::steady;
    }
    /// Between being stopped and training again, at whichever size.
    [[nodiscard]] bool is_restarting() const noexcept;
    /// It has been given more than there is to take yet.
    [[nodiscard]] bool waits_to_grow() const noexcept;
    [[nodiscard]] std::string const& why() const noexcept { return why_; }
    /// Seconds without progress, from being asked to save to the first new step; a guess until it was measured.
    [[nodiscard]] double restart_cost() const noexcept { return s_.cost; }
    /// When `advance` is needed next.
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
