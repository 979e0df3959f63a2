// SPDX-License-Identifier: BSL-1.0
/// Delivers the model of a job with on_acceptable = "save" at its Acceptable tier: the job saves, and a copy of its
/// checkpoint is kept while it trains on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ration/progress/update.hpp>

#include "run/command_channel.hpp"
#include "run/copy_runner.hpp"
#include "run/event_sink.hpp"
#include "run/job_stopper.hpp"
#include "run/job_table.hpp"
#include "run/per_job.hpp"

namespace ration::program {

class model_delivery {
    enum class phase : std::uint8_t {
        none,     // Acceptable is not reached, or nothing is to be delivered
        wanted,   // to be asked for a checkpoint
        asked,    // was asked
        copying,  // its checkpoint is copied
        awaited,  // cannot be asked, or has not answered: its next checkpoint is delivered
        done,
    };
    struct state {
        phase now = phase::none;
        std::uint64_t from = 0;     // the step at which Acceptable was reached
        std::uint64_t command = 0;  // number of the command to save
        std::optional<nanoseconds> deadline;
        bool holds = false;  // until it gets the command to go
    };
    job_table& jobs_;
    command_channel& commands_;
    job_stopper const& stopper_;
    event_sink& events_;
    std::string output_folder_;
    per_job<state> states_;
    copy_runner copies_;

public:
    model_delivery(job_table& jobs, command_channel& commands, job_stopper const& stopper, event_sink& events,
                   std::string output_folder)
        : jobs_(jobs), commands_(commands), stopper_(stopper), events_(events),
          output_folder_(std::move(output_folder)), states_(jobs.capacity()) {}

    /// The job reached a tier at this step.
    void handle_tier(live_job const& job, std::uint64_t step);
    void handle(live_job const& job, progress::report const& reply, nanoseconds now);
    /// Adds the copies to wait for.
    void join(std::vector<pollfd>& fds) const { copies_.join(fds); }
    /// Asks for the checkpoints that are wanted, keeps the deadlines, and reports the copies that have ended.
    void advance(nanoseconds now);
    /// Copies that are not complete are lost.
    void kill_copies() noexcept { copies_.kill(); }
    /// Whether no copy is on the way, also of jobs that have ended.
    [[nodiscard]] bool idle() const noexcept { return copies_.idle(); }
    /// The job has ended.
    void warn_if_missing(live_job const& job, nanoseconds now);

private:
    void ask(live_job const& job, nanoseconds now);
    void deliver(live_job const& job, std::uint64_t step);
    void end_copy(copy_runner::outcome const& copy, nanoseconds now);
    void await(live_job const& job, std::string const& why, nanoseconds now);
};

}  // namespace ration::program
