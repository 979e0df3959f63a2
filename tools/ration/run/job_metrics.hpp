// SPDX-License-Identifier: BSL-1.0
/// Metrics that are read from the state of a run for each page.
#pragma once

#include <cstdint>
#include <prometheus/metric_family.h>
#include <span>
#include <vector>

#include <ration/progress/receiver.hpp>

#include "run/job_table.hpp"
#include "run/usage_meter.hpp"

namespace ration::program {

/// One family for each property of a job, with the label `job`; its value only once it has one. `progress` and `usage`:
/// by row of the jobs table. O(jobs).
void collect_jobs(std::vector<prometheus::MetricFamily>& into, job_table const& board,
                  std::span<training_progress const> progress, std::span<job_usage const> usage);
/// Messages of jobs by what became of them, and events that the log could not take.
void collect_messages(std::vector<prometheus::MetricFamily>& into, progress::totals const& messages,
                      std::uint64_t lost_events);

/// Devices that are not assigned for a while.
void collect_devices(std::vector<prometheus::MetricFamily>& into, std::int64_t cordoned);

}  // namespace ration::program
