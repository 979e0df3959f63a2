// SPDX-License-Identifier: BSL-1.0
/// Observes the processes of the jobs and finds those that stall, are silent or diverge.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <ration/host/backend.hpp>
#include <ration/progress/health.hpp>

#include "run/event_sink.hpp"
#include "run/job_stopper.hpp"
#include "run/job_table.hpp"
#include "run/node_backend.hpp"
#include "run/per_job.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

class health_monitor {
    /// Of the present incarnation.
    struct state {
        progress::health health{nanoseconds{}};
        bool observed = false;
    };
    node_backend& node_;
    job_table& jobs_;
    usage_meter& usage_;
    scheduler& scheduler_;
    job_stopper& stopper_;
    event_sink& events_;
    per_job<state> states_;
    std::vector<std::optional<observation>> by_row_;

public:
    health_monitor(node_backend& node, job_table& jobs, usage_meter& usage, scheduler& scheduler, job_stopper& stopper,
                   event_sink& events)
        : node_(node), jobs_(jobs), usage_(usage), scheduler_(scheduler), stopper_(stopper), events_(events),
          states_(jobs.capacity()), by_row_(jobs.capacity()) {}

    /// Restores the limits of the jobs that live, and measures what they use: of all jobs in a tick that measures,
    /// otherwise of those that were not observed before.
    void observe(nanoseconds now);
    /// Of the last `observe`, by row of the jobs table; empty for a job that it did not measure.
    [[nodiscard]] std::span<std::optional<observation> const> observations() const noexcept { return by_row_; }
    /// Gives each job the condition that follows from its reports and its use. Ends those that diverged.
    void classify(nanoseconds now);

    void start_incarnation(live_job const& job, nanoseconds now) { states_[job] = {.health = progress::health(now)}; }
    void handle(live_job const& job, progress::update const& reply, nanoseconds now) {
        states_[job].health.handle(now, reply, job.config->target.metric);
    }
    /// While a job holds nothing its timeouts do not run.
    void suspend(live_job const& job, nanoseconds now) { states_[job].health.suspend(now); }
    void resume(live_job const& job, nanoseconds now) { states_[job].health.resume(now); }
    [[nodiscard]] bool has_diverged(live_job const& job, nanoseconds now) const {
        return states_[job].health.at(now) == progress::condition::diverged;
    }
    /// Pre: it has diverged. "its loss is no longer a finite number"
    [[nodiscard]] std::string sentence_of_divergence(live_job const& job) const;
};

}  // namespace ration::program
