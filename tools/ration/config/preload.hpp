// SPDX-License-Identifier: BSL-1.0
/// The key `preload` of a job: modules of Python that each launch finds imported (run/fork_servers.hpp).
#pragma once

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// Reads `preload`; what is wrong is added to `problems`. Pre: the command was read.
void read_preload(table_reader& keys, job_config& job, diagnostics& problems);

}  // namespace ration::program
