// SPDX-License-Identifier: BSL-1.0
/// Starts the user's commands at the tiers and the end of a job, and bounds their time and their number.
#pragma once

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <ration/process/child.hpp>

#include "run/event_sink.hpp"
#include "run/hook_call.hpp"
#include "run/hook_room.hpp"
#include "run/live_job.hpp"
#include "run/per_job.hpp"

namespace ration::program {

/// A hook runs once for a job and is not part of it: it has no limits, and its failure is a warning.
class hook_runner {
    struct running {
        hook_user user;
        std::string job;
        hook what = hook::end;
        process::child process;
        nanoseconds deadline;
        bool killed = false;
    };
    event_sink& events_;
    std::string output_folder_;
    per_job<std::array<bool, hook_keys.size()>> started_;
    std::deque<hook_call> waiting_;
    std::vector<running> running_;

public:
    static constexpr nanoseconds longest = seconds(60);

    hook_runner(std::size_t jobs, event_sink& events, std::string output_folder)
        : events_(events), output_folder_(std::move(output_folder)), started_(jobs) {}

    /// Starts the job's command for this event, if it has one.
    void run(live_job const& job, hook what, nanoseconds now);
    /// Starts a command, at once or when another one has ended.
    void start(hook_call call, nanoseconds now);
    /// Reaps those that have ended, and kills those that take too long.
    void advance(nanoseconds now);
    /// The commands that would start at once. Many jobs may end in one turn, as when a user cancels an array.
    [[nodiscard]] hook_room room() const;
    [[nodiscard]] bool idle() const noexcept { return running_.empty() && waiting_.empty(); }

private:
    void start_waiting(nanoseconds now);
    void launch(hook_call const& call, nanoseconds now);
    void warn(std::string_view job, hook what, std::string const& why, nanoseconds now);
};

}  // namespace ration::program
