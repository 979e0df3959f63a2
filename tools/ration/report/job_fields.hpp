// SPDX-License-Identifier: BSL-1.0
/// Readers of what a log has of one job.
#pragma once

#include "common/diagnostics.hpp"
#include "config/document.hpp"
#include "events/event_fields.hpp"
#include "report/run_history.hpp"

namespace ration::program {

/// Name, arrival and target of one [[job]], as far as they can be read.
void read_job(table const& from, job_record& job, diagnostics& ignored);

/// The fields of one job at the end of a run. `from` has the status.
void read_summary(event_fields& from, job_record& job);

}  // namespace ration::program
