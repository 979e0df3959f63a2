// SPDX-License-Identifier: BSL-1.0
// [export]
#include <ration/plugin/export.hpp>

#include "parameters.hpp"

RATION_EXPORT_POLICY(cookbook::tier_share)
// [export]
