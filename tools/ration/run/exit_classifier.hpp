// SPDX-License-Identifier: BSL-1.0
/// How a job has ended, and why: judged by the end of its process, by its reports, and by what ration had asked of it.
#pragma once

#include <string>

#include "run/health_monitor.hpp"
#include "run/job_source.hpp"
#include "run/job_stopper.hpp"
#include "run/node_backend.hpp"
#include "run/progress_monitor.hpp"

namespace ration::program {

class exit_classifier {
    node_backend& node_;
    progress_monitor const& progress_;
    health_monitor const& health_;
    job_stopper const& stopper_;
    job_source const& source_;

public:
    /// `why` is empty for a job that has finished by itself.
    struct verdict {
        condition how;
        std::string why;
    };

    exit_classifier(node_backend& node, progress_monitor const& progress, health_monitor const& health,
                    job_stopper const& stopper, job_source const& source)
        : node_(node), progress_(progress), health_(health), stopper_(stopper), source_(source) {}

    /// Pre: the reports of the job were read, and its place with the backend is still there.
    [[nodiscard]] verdict classify(live_job const& job, process::exit_report const& report, nanoseconds now);

private:
    [[nodiscard]] std::string success_of(live_job const& job, process::exit_report const& report);
    [[nodiscard]] std::string trouble_of(live_job const& job, process::exit_report const& report);
};

}  // namespace ration::program
