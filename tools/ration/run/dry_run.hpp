// SPDX-License-Identifier: BSL-1.0
/// `ration run --dry-run`: what would be done, without doing it.
#pragma once

#include "common/exit_code.hpp"
#include "config/config.hpp"
#include "run/host_devices.hpp"
#include "run/options.hpp"
#include "topology/machine_topology.hpp"

namespace ration::program {

/// Prints the plan of the first moment at which all jobs are there: as a table, or as JSON lines with `--json`.
[[nodiscard]] exit_code dry_run(run_options const& options, run_config const& config, host_devices const& devices,
                                machine_topology const& topology);

}  // namespace ration::program
