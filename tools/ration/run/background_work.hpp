// SPDX-License-Identifier: BSL-1.0
/// Processes of a job that its first process has left: they get the time of the job's end too.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "run/event_sink.hpp"
#include "run/job_stopper.hpp"
#include "run/node_backend.hpp"
#include "run/per_job.hpp"

namespace ration::program {

class background_work {
    struct state {
        std::optional<nanoseconds> since;  // the first process was found to have ended
        std::optional<nanoseconds> until;  // the others may run
        nanoseconds next_look{};           // at them: it costs a look at all processes of the machine
        std::size_t count = 0;             // of them, in the warning
    };
    node_backend& node_;
    job_stopper& stopper_;
    event_sink& events_;
    per_job<state> states_;

public:
    background_work(node_backend& node, job_stopper& stopper, event_sink& events, std::size_t jobs)
        : node_(node), stopper_(stopper), events_(events), states_(jobs) {}

    /// Pre: the first process of the job has ended. True while others are left that may still run: a moment by
    /// themselves, then SIGTERM with a warning, then the job's grace. The caller kills them after that.
    [[nodiscard]] bool is_ending(live_job& job, nanoseconds now);
    /// When `is_ending` can have another answer, at the earliest.
    [[nodiscard]] nanoseconds next_look(live_job const& job) const noexcept { return states_[job].next_look; }
    /// For the reason of the job's end; empty if none was asked to end.
    [[nodiscard]] std::string sentence(live_job const& job) const;
    /// Nothing of the incarnation is left.
    void forget(live_job const& job) { states_[job] = {}; }
};

}  // namespace ration::program
