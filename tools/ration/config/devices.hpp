// SPDX-License-Identifier: BSL-1.0
/// Reads the keys of jobs.toml on devices: at its top, and in jobs that need some.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// `devices = "gpus"`, `devices = { count = 4, cpu = 0.5 }` or `devices = { count = 4, gpu = 0.25 }` at the top of the
/// file.
[[nodiscard]] device_config read_devices(table_reader& root, diagnostics& problems);

/// `gpu` and `batch` of a job's `bounds`; none without `gpu`.
[[nodiscard]] std::optional<elastic_config> read_device_bounds(table_reader& bounds, diagnostics& problems);

/// The other keys of a job with devices. In a job without they are problems: they would say nothing. `title` names the
/// job.
void read_elastic(table_reader& job, std::string const& title, std::optional<elastic_config>& into,
                  diagnostics& problems);

}  // namespace ration::program
