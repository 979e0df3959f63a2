// SPDX-License-Identifier: BSL-1.0
/// The keys of a job that concern its tiers and its end.
#pragma once

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// Reads `at_objective`, `stop_signal`, `grace` and the hooks; what is wrong is added to `problems`. Pre: the target
/// was read.
void read_endings(table_reader& keys, job_config& job, diagnostics& problems);

}  // namespace ration::program
