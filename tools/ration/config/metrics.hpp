// SPDX-License-Identifier: BSL-1.0
/// The file from which ration reads the metrics of a job whose framework writes them.
#pragma once

#include <optional>
#include <string>

#include "common/diagnostics.hpp"
#include "config/config.hpp"
#include "config/document.hpp"

namespace ration::program {

/// `metrics` in a job's table; nothing without the key, or with a problem. The metric of the target is always read, by
/// default from the column of its name.
[[nodiscard]] std::optional<metric_file_config> read_metrics(table_reader& keys, target_config const& target,
                                                             diagnostics& problems);

}  // namespace ration::program
