// SPDX-License-Identifier: BSL-1.0
#include "every_row.hpp"

#include <ration/plugin/export.hpp>

RATION_EXPORT_POLICY(plugin_bench::every_row)
