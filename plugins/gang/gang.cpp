// SPDX-License-Identifier: BSL-1.0
#include <ration/adapt/policies.hpp>
#include <ration/plugin/export.hpp>

RATION_EXPORT_POLICY(ration::policies::gang)
