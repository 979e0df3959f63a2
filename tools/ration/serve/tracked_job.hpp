// SPDX-License-Identifier: BSL-1.0
/// A job of the service in the run: its next stage, by what the run and its user do with it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <ration/progress/message.hpp>

#include "run/live_job.hpp"
#include "serve/definition.hpp"
#include "serve/job_list.hpp"
#include "serve/job_store.hpp"

namespace ration::program {

/// Launches of a job that an error of the machine made fail, in a row; by the number of the job.
using host_failures = std::map<std::int64_t, std::int64_t>;

struct tracked_job {
    stored_job job;  ///< as it is in the list
    progress::phase phase = progress::phase::other;
    bool reported = false;   ///< a step, a metric, a checkpoint or a phase
    bool continues = false;  ///< it accepts commands, or has delivered a checkpoint
    bool limited = false;    ///< it is stopped because of its time limit
    bool pausing = false;    ///< it is stopped because of a pause
    bool may_pause = false;  ///< an earlier service may have stopped it because of a pause
    bool withdrawn = false;  ///< it goes back to the queue, since the service drains
    bool stopping = false;
    std::string reason{};  ///< of the last change of a limit

    /// A report of the job.
    void take(progress::report const& reply) noexcept;
    /// Whether the run has to stop it from now on. `now`: on the clock of the run.
    [[nodiscard]] bool must_stop(live_job const& live, bool draining, nanoseconds now);
    /// None: it stays in its stage. `step`: of its training.
    [[nodiscard]] std::optional<stage_change> next_change(live_job const& live, std::int64_t step,
                                                          service_folder const& folder, host_failures& failures,
                                                          nanoseconds now) const;

private:
    [[nodiscard]] stage_change at_end(live_job const& live, stage_change change, service_folder const& folder,
                                      host_failures& failures) const;
    [[nodiscard]] bool ended_by_pause(live_job const& live) const noexcept;
};

}  // namespace ration::program
