// SPDX-License-Identifier: BSL-1.0
/// The start of a run, as an event and as advice for people.
#pragma once

#include <string>
#include <vector>

#include "run/device_assigner.hpp"
#include "run/event_sink.hpp"
#include "run/job_table.hpp"
#include "run/run_parts.hpp"

namespace ration::program {

/// Emits `run_started` for this policy. Returns the advisory sentences.
std::vector<std::string> announce_policy(run_parts const& parts, policy_choice const& choice, job_table const& jobs,
                                         device_assigner& assigner, event_sink& events, nanoseconds now);

/// Does so for the policy of the plan, prints what is advisory or approximate here, and warns of CPUs and GPUs that
/// cannot be used as they should.
void announce(run_parts const& parts, job_table const& jobs, device_assigner& assigner, event_sink& events,
              nanoseconds now);

}  // namespace ration::program
