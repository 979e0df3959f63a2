// SPDX-License-Identifier: BSL-1.0
#include "run/health_monitor.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace ration::program {

std::string health_monitor::sentence_of_divergence(live_job const& job) const {
    auto const by = states_[job].health.diverged_by();
    if (by == progress::divergence::reported) return "it reported that its training diverged";
    return fmt::format("its {} is no longer a finite number",
                       by == progress::divergence::metric ? job.config->target.metric : "loss");
}

void health_monitor::observe(nanoseconds now) {
    bool const measures_all = scheduler_.timer().measures();
    std::ranges::fill(by_row_, std::nullopt);
    for (auto const& job : jobs_.jobs()) {
        auto& state = states_[job];
        if (!job.alive() || (state.observed && !measures_all)) continue;
        scheduler_.reconcile(job, now);
        auto const seen = node_.observe(job.id);
        if (!seen) continue;
        state.observed = true;
        by_row_[job.row] = *seen;
        usage_.take(job, *seen);
        state.health.observe(now, *seen);
    }
    if (measures_all) usage_.read(now);
}

void health_monitor::classify(nanoseconds now) {
    for (auto& job : jobs_.jobs()) {
        if (!job.alive() || stopper_.is_stopping(job)) continue;
        if (job.devices != nullptr && job.devices->state().is_restarting()) continue;  // a resize has its own deadlines
        switch (states_[job].health.at(now)) {
            case progress::condition::diverged:
                set_condition(job, condition::diverged, sentence_of_divergence(job), now, events_);
                job.now = condition::running;  // until its process has ended
                stopper_.stop_at_once(job, stop_reason::diverged, now);
                break;
            case progress::condition::stalled:
                set_condition(job, condition::stalled, "no step and no CPU use", now, events_);
                break;
            case progress::condition::silent:
                set_condition(job, condition::silent, "it works and has stopped reporting", now, events_);
                break;
            default: set_condition(job, condition::running, "", now, events_);
        }
    }
}

}  // namespace ration::program
