// SPDX-License-Identifier: BSL-1.0
/// The state of a run as the display, the metrics and the summary show it.
#pragma once

#include <optional>
#include <string>

#include "run/elastic_jobs.hpp"
#include "run/job_stopper.hpp"
#include "run/job_table.hpp"
#include "run/live_state.hpp"
#include "run/node_backend.hpp"
#include "run/progress_monitor.hpp"
#include "run/reporter.hpp"
#include "run/run_parts.hpp"
#include "run/scheduler.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

class run_status {
    std::string policy_name_, label_, shown_name_;
    node_backend const& node_;
    job_table const& jobs_;
    progress_monitor const& progress_;
    usage_meter const& usage_;
    elastic_jobs const& elastic_;
    scheduler const& scheduler_;
    job_stopper const& stopper_;
    live_state_writer state_;
    reporter& out_;

public:
    run_status(run_parts const& parts, job_table const& jobs, progress_monitor const& progress,
               usage_meter const& usage, elastic_jobs const& elastic, scheduler const& scheduler,
               job_stopper const& stopper);

    void rename_policy(policy_choice const& choice);
    /// Draws the state, writes it down for `ration list`, serves the metrics and flushes the logs. `notice`: a line for
    /// people.
    void show(std::string const& notice, nanoseconds now);
    /// The same at the end of the run, whose last frame stays.
    void show_end(std::string const& notice, nanoseconds now);
    [[nodiscard]] run_summary summary(bool interrupted, nanoseconds now) const;

private:
    [[nodiscard]] view_model view(std::string const& notice, nanoseconds now) const;
    [[nodiscard]] job_view view_with_resources(live_job const& job, nanoseconds now) const;
    [[nodiscard]] std::optional<double> available_cpu(double used) const;
};

}  // namespace ration::program
