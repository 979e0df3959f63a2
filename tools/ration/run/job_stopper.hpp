// SPDX-License-Identifier: BSL-1.0
/// Ends processes of jobs: by the protocol's command where the job takes commands, so that it saves first; then by
/// its signal, SIGTERM by default; then by SIGKILL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/command_channel.hpp"
#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/scheduler.hpp"

namespace ration::program {

/// Why ration ends a job.
enum class stop_reason : std::uint8_t { none, interrupted, objective_reached, diverged };
[[nodiscard]] constexpr std::string_view name_of(stop_reason reason) noexcept {
    constexpr std::string_view words[] = {"", "interrupted", "objective reached", "diverged"};
    return words[static_cast<std::size_t>(reason)];
}

class job_stopper {
    struct state {
        stop_reason reason = stop_reason::none;
        std::string refused;                      // why the job may not run with its devices
        std::optional<nanoseconds> terminate_at;  // it was asked to stop, and gets SIGTERM then
        std::optional<nanoseconds> kill_at;
    };
    node_backend& node_;
    job_table& jobs_;
    command_channel& commands_;
    scheduler& scheduler_;
    event_sink& events_;
    per_job<state> states_;

public:
    job_stopper(node_backend& node, job_table& jobs, command_channel& commands, scheduler& scheduler,
                event_sink& events)
        : node_(node), jobs_(jobs), commands_(commands), scheduler_(scheduler), events_(events),
          states_(jobs.capacity()) {}

    // --- the job as a whole; the first reason counts
    /// Asks the job to save and end. Its deadlines follow from the jobs file.
    void ask_to_stop(live_job& job, stop_reason why, nanoseconds now);
    /// Whether ration may end the job at its Objective. Not a job that takes no commands, unless the jobs file allows
    /// it: its signal could cost what it has not saved.
    [[nodiscard]] bool may_end_at_objective(live_job const& job) const noexcept;
    /// Warns of a job that will train on after its Objective, though the policy would release it there.
    void warn_if_it_trains_on(live_job const& job, nanoseconds now);
    /// Sends its signal at once: a checkpoint would be useless.
    void stop_at_once(live_job& job, stop_reason why, nanoseconds now);
    /// Kills a job that may not run with its devices.
    void refuse(live_job& job, std::string why, nanoseconds now);
    /// SIGKILL at the next `keep_deadlines`.
    void kill_soon(live_job const& job, nanoseconds now) { states_[job].kill_at = now; }
    [[nodiscard]] stop_reason reason(live_job const& job) const noexcept { return states_[job].reason; }
    [[nodiscard]] bool is_stopping(live_job const& job) const noexcept { return reason(job) != stop_reason::none; }
    /// Why `refuse` was called; empty if it was not.
    [[nodiscard]] std::string const& refusal(live_job const& job) const noexcept { return states_[job].refused; }

    // --- its present processes
    /// Its signal to all of the job; another one than SIGTERM to its process group. Its first process gets one directly
    /// if it is not in the job's group.
    [[nodiscard]] result<void> request_end(live_job& job, nanoseconds now);
    /// SIGKILL to all of the job, and in any case to its first process.
    [[nodiscard]] result<void> kill(live_job& job);
    /// The first process has ended: SIGTERM to the others. Returns the time of SIGKILL, which the caller sends.
    [[nodiscard]] nanoseconds end_rest(live_job& job, nanoseconds now);
    /// When SIGKILL follows the signal that all of the job got; none: they got none.
    [[nodiscard]] std::optional<nanoseconds> kill_time(live_job const& job) const noexcept {
        return states_[job].kill_at;
    }
    void end_incarnation(live_job const& job) { states_[job].kill_at.reset(); }

    void handle(live_job& job, progress::report const& reply, nanoseconds now);
    void keep_deadlines(nanoseconds now);

private:
    [[nodiscard]] bool begin(live_job& job, stop_reason why);
    [[nodiscard]] bool send_stop(live_job const& job);
    void let_train_on(live_job& job, nanoseconds now);
    void terminate(live_job& job, nanoseconds now);
};

}  // namespace ration::program
