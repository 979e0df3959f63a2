// SPDX-License-Identifier: BSL-1.0
#include "parameters.hpp"

#include <ration/plugin/export.hpp>

RATION_EXPORT_POLICY(cookbook::tier_share)
