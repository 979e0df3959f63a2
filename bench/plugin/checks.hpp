// SPDX-License-Identifier: BSL-1.0
// The check of one answer, alone.
#pragma once

#include "table.hpp"

namespace plugin_bench {

/// Grants in the order of jobs and shuffled, on one node and on 128.
void register_checks();
void print_checks(medians const& all);

}  // namespace plugin_bench
