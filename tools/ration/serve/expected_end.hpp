// SPDX-License-Identifier: BSL-1.0
/// An estimate of when a running job ends.
#pragma once

#include <cstdint>
#include <optional>

#include "run/job_table.hpp"
#include "run/live_job.hpp"
#include "run/training_progress.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

/// Seconds until the job has made all steps that it has reported, at its measured speed. An earlier end of its time
/// limit counts instead. None: it does not run, or has neither. `now`: on the clock of the run.
[[nodiscard]] std::optional<double> seconds_left(live_job const& job, training_progress const& progress,
                                                 stored_job const& stored, job_table const& table, nanoseconds now);

}  // namespace ration::program
