// SPDX-License-Identifier: BSL-1.0
/// A job of a run as the display and the summary show it, apart from what it holds. For runs on one machine and on
/// several nodes.
#pragma once

#include "events/events.hpp"
#include "run/live_job.hpp"
#include "run/training_progress.hpp"
#include "view/view.hpp"

namespace ration::program {

/// Without the resources of the job.
[[nodiscard]] job_view view_of(live_job const& job, training_progress const& progress, nanoseconds now);
/// Without its device-seconds, and as a job that ration has not released.
[[nodiscard]] job_summary summary_of(live_job const& job, training_progress const& progress);

}  // namespace ration::program
